import type { Language } from "../../interpreter/language.ts";

export const RULE = "Give either snippet_name, or both language and entrypoint_code";

/** What callers are told of `execute_code`: of the languages that this server has. */
export function describeExecuteCode(languages: readonly Pick<Language, "name">[]): string {
  const names = languages.map(({ name }) => name).join(", ");
  return [
    `Runs a program once in an isolated sandbox, by default without network, and returns what it printed. Languages: ${names}.`,
    "Each call has a fresh, empty sandbox unless `sandbox` names one.",
    `${RULE}.`,
    "Files that it leaves in its folder come back: pictures as pictures, short texts as text. They are gone afterwards.",
    "A non-zero exit, a signal, a failed compilation and a timeout are reported as errors, with all that was printed.",
  ].join("\n");
}
