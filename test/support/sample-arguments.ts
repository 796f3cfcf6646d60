/** What cannot be made up from the schema alone. */
export const ARGUMENTS: Readonly<Record<string, object>> = {
  contexts: { action: "remove" },
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
