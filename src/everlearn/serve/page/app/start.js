/** An empty project: upload a file, check the types of its fields, name the classes. */
import { post, request } from "./api.js";
import { go, status } from "./state.js";
import { html, plural, useRef, useState } from "./ui.js";

/** @param {{onFile: (file: File) => void, busy: boolean}} props */
function Drop({ onFile, busy }) {
  const input = useRef(/** @type {any} */ (null));
  const [over, setOver] = useState(false);
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files?.[0];
    if (file) onFile(file);
  };
  return html`<div class=${`drop${over ? " over" : ""}`} onDragOver=${(/** @type {Event} */ e) => (e.preventDefault(), setOver(true))}
      onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <p class="big">Drop a file here</p>
    <p class="muted">CSV or JSON lines, one row per line. It stays on this server.</p>
    <button class="primary" disabled=${busy} onClick=${() => input.current.click()}>${busy ? "Reading…" : "Choose a file"}</button>
    <input ref=${input} type="file" class="visually-hidden" tabindex="-1" aria-label="File with rows" accept=".csv,.tsv,.jsonl,.ndjson,.json,.txt,.gz"
      onChange=${(/** @type {any} */ e) => e.target.files[0] && onFile(e.target.files[0])} />
  </div>`;
}

export function Start() {
  const [inspection, setInspection] = useState(/** @type {any} */ (null));
  const [kinds, setKinds] = useState(/** @type {Record<string, string>} */ ({}));
  const [label, setLabel] = useState("");
  const [names, setNames] = useState("");
  const [project, setProject] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));

  /** What a field is taken for. The label column has a select of its own, and both say the same. @param {any} f */
  const kindOf = (f) => (f.name === label ? "label" : (kinds[f.name] ?? (f.kind === "label" ? "ignore" : f.kind)));
  const chooseLabel = (/** @type {string} */ name) => {
    const found = (inspection.classes ?? []).join("\n"); // those of the label column that was found
    if (label === inspection.label_column && names === found) setNames("");
    if (name === inspection.label_column && !names.trim()) setNames(found);
    setLabel(name);
  };
  const choose = (/** @type {string} */ name, /** @type {string} */ kind) => {
    if (kind === "label") return chooseLabel(name);
    if (name === label) chooseLabel("");
    setKinds({ ...kinds, [name]: kind });
  };

  const attempt = async (/** @type {() => Promise<void>} */ work) => {
    setBusy(true);
    setProblem(null);
    await work().catch(setProblem);
    setBusy(false);
  };
  const inspect = (/** @type {File} */ file) =>
    attempt(async () => {
      const found = await request(`v1/setup:inspect?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file, timeout: 120000 });
      setInspection(found);
      setKinds({});
      setLabel(found.label_column ?? "");
      setNames((found.classes ?? []).join("\n"));
      setProject(file.name.replace(/\.[^.]*$/, ""));
    });
  const create = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(async () => {
      const classes = names.split("\n").map((name) => name.trim()).filter(Boolean);
      const fields = inspection.fields.map((/** @type {any} */ f) => ({ name: f.name, kind: kindOf(f) }));
      if (!label && classes.length < 2) throw new Error("Name at least two classes, one per line.");
      const body = { upload: inspection.upload, fields, label_column: label || null, classes, name: project || undefined };
      const now = await post("v1/setup", body, { timeout: 120000 });
      status.value = { ...status.value, ...now };
      go("label");
    });
  };
  const steps = html`<ol class="steps" aria-label="Steps"><li class=${inspection ? "done" : "now"}>Upload a file</li><li class=${inspection ? "now" : ""}>Check the fields and name the classes</li><li>Start labeling</li></ol>`;
  const failed = problem && html`<p class="problem" role="alert">${problem.message} ${problem.remedy ?? ""}</p>`;
  if (status.value && !status.value.setup_needed)
    return html`<div class="page narrow"><h1>Start</h1><p>This project is set up and has ${plural(status.value.rows ?? 0, "row")}.</p><p><a class="primary" href="#/label">Answer questions</a></p></div>`;
  if (status.value && status.value.me?.role !== "admin")
    return html`<div class="page narrow"><h1>Start</h1><p>This project has no data yet. An admin can upload a file here.</p></div>`;
  if (!inspection) return html`<div class="page narrow"><h1>Start</h1>${steps}${failed}<${Drop} onFile=${inspect} busy=${busy} /></div>`;
  return html`<form class="page narrow" onSubmit=${create}>
    <h1>Start</h1>${steps}
    ${inspection.messages?.map((/** @type {string} */ m) => html`<p class="notice" key=${m}>${m}</p>`)}
    <h2>Fields <span class="muted">inferred from ${plural(inspection.rows_seen, "row")}</span></h2>
    <div class="scroll" role="region" aria-label="Fields" tabindex="0"><table class="plain">
      <thead><tr><th scope="col">Field</th><th scope="col">Example</th><th scope="col">Type</th></tr></thead>
      <tbody>${inspection.fields.map(
        (/** @type {any} */ f) => html`<tr key=${f.name}><th scope="row" dir="auto">${f.name}</th><td class="example" dir="auto">${f.example}</td>
          <td><select aria-label=${`Type of ${f.name}`} value=${kindOf(f)} onChange=${(/** @type {any} */ e) => choose(f.name, e.target.value)}>
            ${[...new Set([f.kind, ...(f.choices ?? [])])].map((kind) => html`<option key=${kind} value=${kind}>${kind}</option>`)}</select>
            ${f.note && kindOf(f) === f.kind && html`<span class="note">${f.note}</span>`}</td></tr>`,
      )}</tbody></table></div>
    <div class="form">
      <label><span>Label column</span>
        <select value=${label} onChange=${(/** @type {any} */ e) => chooseLabel(e.target.value)}><option value="">None: people label everything</option>
          ${inspection.fields.map((/** @type {any} */ f) => html`<option key=${f.name} value=${f.name}>${f.name}</option>`)}</select></label>
      <label><span>Classes, one per line${label && "; the labels of the file are added"}</span><textarea rows="4" dir="auto" value=${names} onInput=${(/** @type {any} */ e) => (setNames(e.target.value), setProblem(null))} placeholder=${"spam\nham"}></textarea></label>
      <label><span>Project name</span><input value=${project} dir="auto" onInput=${(/** @type {any} */ e) => setProject(e.target.value)} /></label>
    </div>
    ${failed}
    <p class="actions"><button class="primary" type="submit" disabled=${busy}>${busy ? "Setting up…" : "Start labeling"}</button>
      <button class="tool" type="button" onClick=${() => setInspection(null)}>Choose another file</button></p>
  </form>`;
}
