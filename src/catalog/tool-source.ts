import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { Caller, ChangeListener } from "./caller.ts";
import type { Tool } from "./tool.ts";

/** Where tools come from. It answers at once, from what it knows, and tells no caller of another owner's tools. */
export interface ToolSource {
  /** The caller's tools, in the order of lists. The answer for a principal changes only with `onChange`, whatever its client is. */
  list(caller: Pick<Caller, "principal">): readonly Tool[];
  /** The caller's tool of this name; undefined also for a name that only others have. */
  find(caller: Caller, name: string): Tool | undefined;
  /** The caller's tool for which the name stands too. Asked only where no source has a tool of this name. Undefined if it stands for several. */
  findOther?(caller: Caller, name: string): Tool | undefined;
  /** Why the caller has no tool of this name, if the source knows. Asked only where `findOther` found none. */
  whyNone?(caller: Caller, name: string): BelljarError | undefined;
  /** Calls back after each change, until the returned function is called. */
  onChange(listener: ChangeListener): () => void;
}

const NAME = /^[A-Za-z0-9_-]{1,40}$/;
const DESCRIPTION_MAX = 2_048;

/** The same tools for everybody, without changes. Throws `ARGUMENTS_INVALID` for an invalid or repeated name, and for a long description. */
export function fixedTools(tools: readonly Tool[]): ToolSource {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    assertFits(tool);
    if (byName.has(tool.name)) throw invalid(`There is a tool "${tool.name}" already; choose another name`);
    byName.set(tool.name, tool);
  }
  return { list: () => tools, find: (_caller, name) => byName.get(name), onChange: () => () => undefined };
}

/** A source for the principals that `has` names. Its answer for a principal is always the same. */
export function sourceFor(source: ToolSource, has: (principal: Principal) => boolean): ToolSource {
  return {
    list: (caller) => (has(caller.principal) ? source.list(caller) : []),
    find: (caller, name) => (has(caller.principal) ? source.find(caller, name) : undefined),
    onChange: (listener) => source.onChange(listener),
  };
}

function assertFits({ name, description }: Tool): void {
  if (!NAME.test(name)) throw invalid(`The tool name "${name.slice(0, 100)}" must match ${NAME.source}`);
  if (description.length >= DESCRIPTION_MAX) throw invalid(`The description of "${name}" has ${DESCRIPTION_MAX} characters or more`);
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
