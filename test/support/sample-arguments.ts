/** What cannot be made up from the schema alone. */
export const ARGUMENTS: Readonly<Record<string, object>> = {
  contexts: { action: "remove" },
  browser_click: { selector: "a" },
  browser_drag: { start_selector: "a", end_selector: "b" },
  browser_enter_text: { text: "a", selector: "a" },
  browser_fill_form: { fields: [{ selector: "a", value: "b" }] },
  browser_hover: { selector: "a" },
  browser_navigate: { url: "https://example.org/" },
  browser_navigation: { url: "https://example.org/" },
  browser_restart: { url: "https://example.org/" },
  browser_scroll: { direction: "down" },
  browser_select_option: { selector: "a", values: ["b"] },
  browser_upload_file: { selector: "a", paths: ["b"] },
  browser_wait_for: { text: "a" },
  computer_click: { coordinate: [1, 1] },
  computer_cursor: { coordinate: [1, 1] },
  computer_drag: { coordinate: [1, 1] },
  computer_scroll: { coordinate: [1, 1], scroll_direction: "down" },
  apply_patch: { patch: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" },
  edit_file: { path: "x", edits: [{ old_string: "a", new_string: "b" }] },
  execute_code: { language: "bash", entrypoint_code: "true" },
  git_clone: { url: "https://example.org/x.git" },
  git_add: { all: true },
  git_checkout: { branch: "main" },
  list_directory: {},
  process: { action: "output", process_id: "unknown" },
  sandbox: { action: "network" },
  sandbox_write_file: { path: "x", content_base64: "" },
  web_visit: { url: "https://example.org/" },
  write_file: { path: "x", content: "" },
};
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly minItems?: number;
}

/** The least that the schema of a tool takes. */
export function sampleOf(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf?.[0]) return sampleOf(schema.anyOf[0]);
  if (schema.type === "object") {
    return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]));
  }
  if (schema.type === "array") return Array.from({ length: Math.max(1, schema.minItems ?? 0) }, () => sampleOf(schema.items ?? {}));
  if (schema.type === "integer" || schema.type === "number") return Math.max(1, schema.minimum ?? 1);
  return schema.type === "boolean" ? true : "x";
}
