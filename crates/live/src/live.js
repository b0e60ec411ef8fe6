// Swaps the parts of a live page as they come, and sends what its controls say. Nothing else asks for anything.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const parts = byId("parts");
  const connection = byId("connection");

  // Streams become choices once; a choice that somebody made stays.
  const choices = () => {
    const stream = byId("stream");
    if (!stream) return;
    const rows = [...parts.querySelectorAll("tr[data-stream]")];
    if (rows.length === stream.options.length) return;
    const chosen = stream.value;
    stream.replaceChildren(...rows.map((row) => {
      const option = new Option(row.dataset.stream, row.dataset.stream);
      option.dataset.open = row.dataset.open;
      return option;
    }));
    if (chosen) stream.value = chosen;
    kind();
  };
  const kind = () => {
    const chosen = byId("stream").selectedOptions[0];
    if (chosen) byId("pace-kind").value = chosen.dataset.open === "true" ? "rate" : "sessions";
  };

  let over = false;
  const source = new EventSource("/live");
  source.addEventListener("parts", (event) => {
    parts.innerHTML = event.data;
    connection.textContent = "live";
    connection.classList.remove("lost");
    choices();
  });
  source.addEventListener("over", () => {
    over = true;
    source.close();
    connection.textContent = "over; this page stays as it is";
    for (const control of document.querySelectorAll("#controls button")) control.disabled = true;
  });
  source.onerror = () => {
    if (over) return;
    connection.textContent = "no connection; trying again";
    connection.classList.add("lost");
  };

  const send = async (command) => {
    const said = byId("said");
    try {
      const response = await fetch("/control", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(command),
      });
      said.textContent = await response.text();
    } catch {
      said.textContent = "not sent: no connection";
    }
  };
  const controls = byId("controls");
  if (!controls) return;
  byId("stop").addEventListener("click", () => send({ command: "stop" }));
  if (!byId("stream")) return;
  choices();
  byId("stream").addEventListener("change", kind);
  controls.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = Number(byId("pace").value.replaceAll(",", ""));
    const stream = byId("stream").value;
    if (byId("pace-kind").value === "rate") send({ command: "rate", stream, per_s: value });
    else send({ command: "sessions", stream, sessions: value });
  });
  byId("keep-note").addEventListener("click", () => {
    send({ command: "note", text: byId("note").value });
    byId("note").value = "";
  });
})();
