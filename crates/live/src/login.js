// The token is in the fragment of the URL (after #), which a browser sends to no server; it becomes a cookie that no
// script can read.
"use strict";
(async () => {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  const response = await fetch("/login", { method: "POST", body: token });
  if (response.ok) location.replace("/");
})();
