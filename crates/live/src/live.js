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
    ramp();
  };
  // Only sessions come one by one.
  const ramp = () => { byId("ramp-of").hidden = byId("pace-kind").value === "rate"; };
  // The button does the opposite of what the server says that it does now.
  const held = () => {
    const pause = byId("pause");
    if (!pause) return;
    const is = parts.querySelector("[data-held]")?.dataset.held === "true";
    pause.setAttribute("aria-pressed", is);
    pause.textContent = is ? "Resume" : "Pause";
  };

  let over = false;
  // A page below another address has its events below it.
  const source = new EventSource(`${location.pathname.replace(/\/$/, "")}/live`);
  let latest = "";
  // A reader with a keyboard keeps the place.
  const swap = () => {
    const focused = document.activeElement;
    const at = focused !== parts && parts.contains(focused) && focused.closest("#parts [id]")?.id;
    parts.innerHTML = latest;
    if (at) byId(at)?.querySelector("[tabindex]")?.focus({ preventScroll: true });
  };
  // Nor does a text vanish while it is selected to be copied.
  const isSelecting = () => {
    const selection = getSelection();
    return !selection.isCollapsed && parts.contains(selection.anchorNode);
  };
  source.addEventListener("parts", (event) => {
    latest = event.data;
    if (!isSelecting()) swap();
    connection.textContent = "live";
    connection.classList.remove("lost");
    choices();
    held();
  });
  source.addEventListener("over", () => {
    over = true;
    if (latest) swap();
    source.close();
    connection.textContent = "over; this page stays as it is";
    for (const control of document.querySelectorAll("#controls button")) control.disabled = true;
  });
  // Of a stored run: its result is at the same address now.
  source.addEventListener("ended", () => {
    source.close();
    location.reload();
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
  controls.hidden = false;
  byId("stop").addEventListener("click", () => send({ command: "stop" }));
  byId("pause")?.addEventListener("click", (event) => {
    send({ command: event.target.getAttribute("aria-pressed") === "true" ? "resume" : "pause" });
  });
  held();
  if (!byId("stream")) return;
  choices();
  byId("stream").addEventListener("change", kind);
  byId("pace-kind").addEventListener("change", ramp);
  controls.addEventListener("submit", (event) => {
    event.preventDefault();
    // As on the command line: 20000, 20,000 or 20k.
    const number = (id) => {
      const [, digits, unit] = /^([\d.]+)([kM]?)$/.exec(byId(id).value.replaceAll(",", "").trim()) ?? [];
      return Number(digits) * ({ k: 1e3, M: 1e6 }[unit] ?? 1);
    };
    const isRate = byId("pace-kind").value === "rate";
    const filled = ["pace", "ramp"].slice(0, isRate ? 1 : 2).filter((id) => byId(id).value);
    // There is no half of a session.
    const isRight = (id) => isRate || id === "ramp" ? !Number.isNaN(number(id)) : Number.isInteger(number(id));
    const wrong = filled.find((id) => !isRight(id));
    if (wrong) {
      const such = isRate || wrong === "ramp" ? "no number: give one such as 20,000 or 20k" : "no number of sessions";
      byId("said").textContent = `${byId(wrong).value} is ${such}`;
      byId(wrong).focus();
      return;
    }
    const stream = byId("stream").value;
    if (isRate) send({ command: "rate", stream, per_s: number("pace") });
    else {
      const ramped = byId("ramp").value ? { ramp_per_s: number("ramp") } : {};
      send({ command: "sessions", stream, sessions: number("pace"), ...ramped });
    }
  });
  byId("keep-note").addEventListener("click", () => {
    send({ command: "note", text: byId("note").value });
    byId("note").value = "";
  });
})();
