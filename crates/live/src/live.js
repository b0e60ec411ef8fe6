// Replaces the regions of a live page when updates arrive, and sends the commands of its controls; on every page, the
// theme. Makes no other requests.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  // The selected theme is kept for all pages.
  const root = document.documentElement;
  root.dataset.theme = localStorage.getItem("theme") ?? "";
  const dark = () => root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = document.createElement("button");
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.type = "button";
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    name();
  });
  name();
  document.querySelector(".acts")?.append(theme);

  // The form shows the fields of its command, and the command line for the current values.
  const form = byId("start-form");
  if (form) {
    const fields = () => {
      const command = form.elements.command.value;
      for (const label of form.querySelectorAll("label")) {
        label.hidden = Boolean(label.dataset.for) && !label.dataset.for.split(" ").includes(command);
        for (const field of label.querySelectorAll("input")) field.disabled = label.hidden;
      }
    };
    const show = async () => {
      fields();
      const filled = new URLSearchParams(new FormData(form));
      filled.set("step", "show");
      const response = await fetch("/start", { method: "POST", body: filled });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      byId("below").replaceChildren(...page.getElementById("below").childNodes);
    };
    form.addEventListener("change", show);
    // A page with a command, or with the reason why there is none, is the answer to what was sent.
    fields();
    if (!byId("below").childElementCount) show();
  }

  // The list of runs follows those that are running, unless the user is selecting some.
  const follow = async () => {
    const runs = byId("runs");
    if (!runs || !("running" in runs.dataset)) return;
    if (!runs.querySelector(":checked") && !runs.contains(document.activeElement)) {
      const response = await fetch(location.href).catch(() => undefined);
      const page = response?.ok
        ? new DOMParser().parseFromString(await response.text(), "text/html").getElementById("runs")
        : undefined;
      if (page) runs.replaceWith(page);
    }
    setTimeout(follow, 5000);
  };
  setTimeout(follow, 5000);

  const parts = byId("parts");
  if (!parts) return;
  const connection = byId("connection");
  const regions = ["top", "parts", "more"].map(byId);

  // The list of streams is filled once; a selected stream is kept, and so is typed text.
  const streams = () => [...document.querySelectorAll("#top [data-stream]")];
  const choices = () => {
    const stream = byId("stream");
    if (!stream) return;
    const all = streams();
    if (all.length > 0 && all.length !== stream.options.length) {
      const chosen = stream.value;
      stream.replaceChildren(...all.map((of) => new Option(of.dataset.stream, of.dataset.stream)));
      if (chosen) stream.value = chosen;
      kind();
    }
    current();
  };
  const chosen = () => streams().find((of) => of.dataset.stream === byId("stream").value);
  const kind = () => {
    const of = chosen();
    if (of) byId("pace-kind").value = of.dataset.open === "true" ? "rate" : "sessions";
    byId("pace").dataset.typed = "";
    ramp();
    current();
  };
  // The current pace, unless another one is typed.
  const current = () => {
    const of = chosen();
    const pace = byId("pace");
    const isItsUnit = of && (of.dataset.open === "true") === (byId("pace-kind").value === "rate");
    if (of && !pace.dataset.typed && pace !== document.activeElement) pace.value = isItsUnit ? of.value : "";
  };
  // Sessions are added one by one; a rate changes in steps.
  const ramp = () => {
    const isRate = byId("pace-kind").value === "rate";
    byId("ramp-unit").textContent = isRate ? "seconds" : "a second";
    byId("pace-name").textContent = isRate ? "Rate" : "Sessions";
  };
  // The button does the opposite of the state that the server reports.
  const held = () => {
    const pause = byId("pause");
    if (!pause) return;
    const is = document.querySelector("[data-held]")?.dataset.held === "true";
    pause.setAttribute("aria-pressed", is);
    pause.textContent = is ? "Resume" : "Pause";
  };

  const isOver = () => document.querySelector("[data-over]")?.dataset.over === "true";
  if (isOver()) return;
  let over = false;
  // A page at a subpath has its events below that path.
  const source = new EventSource(`${location.pathname.replace(/\/$/, "")}/live`);
  let latest = "";
  // Keyboard focus and folded parts are kept.
  const swap = () => {
    const focused = document.activeElement;
    const isInside = regions.some((region) => region !== focused && region.contains(focused));
    const at = isInside && focused.closest("[id]")?.id;
    const folded = [...document.querySelectorAll("#more details:not([open])")].map((of) => of.id);
    const next = new DOMParser().parseFromString(latest, "text/html");
    for (const region of regions) region.replaceChildren(...(next.getElementById(region.id)?.childNodes ?? []));
    for (const id of folded) byId(id)?.removeAttribute("open");
    if (at) byId(at)?.querySelector("summary, [tabindex]")?.focus({ preventScroll: true });
  };
  // Nothing is replaced while text is selected for copying.
  const isSelecting = () => {
    const selection = getSelection();
    return !selection.isCollapsed && regions.some((region) => region.contains(selection.anchorNode));
  };
  // A browser that draws slower than pages come shows the latest one, not one after the other.
  let isDrawing = false;
  const draw = () => {
    isDrawing = true;
    const drawn = latest;
    if (!isSelecting()) swap();
    choices();
    held();
    // The frame has been painted when its timer runs; a hidden page has no frames, and waits.
    requestAnimationFrame(() => setTimeout(() => {
      isDrawing = false;
      if (latest !== drawn) draw();
    }));
  };
  source.addEventListener("parts", (event) => {
    latest = event.data;
    connection.textContent = "";
    connection.classList.remove("lost");
    if (!isDrawing) draw();
  });
  // The report is at the same address now.
  for (const end of ["over", "ended"]) {
    source.addEventListener(end, () => {
      over = true;
      source.close();
      location.reload();
    });
  }
  source.onerror = () => {
    if (over) return;
    connection.textContent = "no connection; trying again";
    connection.classList.add("lost");
  };

  // Steps of a rate's ramp, and the number of requested changes.
  const RATE_STEPS = 10;
  let changes = 0;
  const send = async (command) => {
    const said = byId("said");
    try {
      const response = await fetch("/control", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(command),
      });
      said.textContent = await response.text();
      return response.ok;
    } catch {
      said.textContent = "not sent: no connection";
      return false;
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
  byId("pace").addEventListener("input", () => { byId("pace").dataset.typed = "typed"; });
  byId("pace-kind").addEventListener("change", () => { ramp(); current(); });
  controls.addEventListener("submit", async (event) => {
    event.preventDefault();
    // Formats of the command line: 20000, 20,000, or 20k.
    const number = (id) => {
      const [, digits, unit] = /^([\d.]+)([kM]?)$/.exec(byId(id).value.replaceAll(",", "").trim()) ?? [];
      return Number(digits) * ({ k: 1e3, M: 1e6 }[unit] ?? 1);
    };
    const isRate = byId("pace-kind").value === "rate";
    const filled = ["pace", "ramp"].filter((id) => byId(id).value);
    // The number of sessions is an integer.
    const isRight = (id) => isRate || id === "ramp" ? !Number.isNaN(number(id)) : Number.isInteger(number(id));
    const wrong = filled.find((id) => !isRight(id));
    if (wrong) {
      const such = isRate || wrong === "ramp" ? "no number: give one such as 20,000 or 20k" : "no number of sessions";
      byId("said").textContent = `${byId(wrong).value} is ${such}`;
      byId(wrong).focus();
      return;
    }
    const stream = byId("stream").value;
    const ramped = byId("ramp").value ? { ramp_per_s: number("ramp") } : {};
    const [to, from] = [number("pace"), Number(chosen()?.value.replaceAll(",", ""))];
    const steps = isRate && from ? Math.min(RATE_STEPS, Math.max(1, Math.floor(ramped.ramp_per_s ?? 1))) : 1;
    changes += 1;
    const change = changes;
    for (let step = 1; step <= steps; step += 1) {
      // A newer change from this page ends the ramp.
      if (change !== changes || isOver()) return;
      const command = isRate
        ? { command: "rate", stream, per_s: steps > 1 ? Math.round(from + ((to - from) * step) / steps) : to }
        : { command: "sessions", stream, sessions: to, ...ramped };
      if (!await send(command)) return;
      byId("pace").dataset.typed = "";
      if (step < steps) await new Promise((go) => { setTimeout(go, (1000 * ramped.ramp_per_s) / steps); });
    }
  });
  byId("keep-note").addEventListener("click", () => {
    send({ command: "note", text: byId("note").value });
    byId("note").value = "";
  });
})();
