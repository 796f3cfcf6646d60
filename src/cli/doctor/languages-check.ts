import type { LanguagesSettings } from "../../interpreter/configured-languages.ts";
import type { IsolationCheck } from "../../runtime/contract/runtime.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";

/** A template as the local user has it. */
export interface KnownTemplate {
  readonly name: string;
  /** Whether everybody may start sandboxes from it. */
  readonly isShared: boolean;
}

/** Adds whether the templates are there in which the configuration runs languages. Where it names none, they are not looked for. */
export async function withLanguagesCheck(
  isolation: HostIsolation,
  settings: LanguagesSettings,
  find: () => Promise<readonly KnownTemplate[]>,
): Promise<HostIsolation> {
  const named = Object.entries(settings).flatMap(([language, { template }]) => (template === undefined ? [] : [{ language, template }]));
  if (!isolation.available || named.length === 0) return isolation;
  const known = new Map((await find()).map((one) => [one.name, one]));
  return { ...isolation, checks: [...isolation.checks, toCheck(named, known)] };
}

interface NamedTemplate {
  readonly language: string;
  readonly template: string;
}

function toCheck(named: readonly NamedTemplate[], known: ReadonlyMap<string, KnownTemplate>): IsolationCheck {
  const missing = named.filter(({ template }) => !known.has(template));
  const own = named.filter(({ template }) => known.get(template)?.isShared === false);
  const id = "languages";
  if (missing.length > 0)
    return { id, state: "absent", detail: `No programs of ${tell(missing)}: the local user has no such template`, remedy: make(missing) };
  if (own.length > 0)
    return {
      id,
      state: "partial",
      detail: `Programs of ${tell(own)} for the local user alone: the template is not shared`,
      remedy: share(own),
    };
  return { id, state: "enforced", detail: `Programs run in templates: ${tell(named)}` };
}

function tell(named: readonly NamedTemplate[]): string {
  return named.map(({ language, template }) => `${language} in "${template}"`).join(", ");
}

function make(missing: readonly NamedTemplate[]): string {
  return templatesOf(missing)
    .map((template) => `belljar template import ${template} IMAGE`)
    .join("\n");
}

function share(own: readonly NamedTemplate[]): string {
  return templatesOf(own)
    .map((template) => `belljar template share ${template}   (for callers with tokens)`)
    .join("\n");
}

function templatesOf(named: readonly NamedTemplate[]): readonly string[] {
  return [...new Set(named.map(({ template }) => template))];
}
