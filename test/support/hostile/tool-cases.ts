import type { CatalogTool, HostileCase, HostileLab } from "./hostile-lab.ts";
import { hostileValues, sampleOf } from "./hostile-values.ts";
import { WORKING_CALLS } from "./working-calls.ts";

/** The walk goes on in the sandbox that it is in. */
const ENDING: ReadonlySet<string> = new Set(["sandbox_kill"]);

/** Calls of one tool: those that are known to come to its work, and every hostile value that its schema has a place for. */
export function* toolCases(lab: HostileLab, { name, inputSchema }: CatalogTool): Generator<HostileCase> {
  const least = sampleOf(inputSchema, lab.known) as object;
  const bases = (WORKING_CALLS[name] ?? [{}]).map((working) => ({ ...least, ...working }));
  for (const base of bases) yield { what: `${name} ${JSON.stringify(base).slice(0, 80)}`, run: (signal) => lab.call(name, base, signal) };
  for (const { what, value } of hostileValues(inputSchema, bases[0], lab.known)) {
    yield { what: `${name} with ${what}`, run: (signal) => lab.call(name, value, signal) };
  }
}

export interface Liar {
  readonly sandbox: string;
  /** What every program of it does. */
  readonly what: string;
}

/** The same calls in a sandbox whose programs say what they were not asked. */
export function* lyingCases(lab: HostileLab, tools: readonly CatalogTool[], { sandbox, what }: Liar): Generator<HostileCase> {
  for (const { name, inputSchema } of lab.known.share(tools)) {
    const inLiar = Object.fromEntries(["sandbox", "id"].filter((one) => inputSchema.properties?.[one]).map((one) => [one, sandbox]));
    const base = { ...(sampleOf(inputSchema, lab.known) as object), ...WORKING_CALLS[name]?.[0] };
    if (!ENDING.has(name))
      yield { what: `${name} of programs that ${what}`, run: (signal) => lab.call(name, { ...base, ...inLiar }, signal) };
  }
}
