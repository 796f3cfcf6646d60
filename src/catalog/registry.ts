import { BelljarError } from "../errors.ts";
import type { ToolDescription } from "./description.ts";
import { describeTool } from "./description.ts";
import type { Tool } from "./tool.ts";

const NAME = /^[A-Za-z0-9_-]{1,40}$/;
const DESCRIPTION_MAX = 2_048;

/** The tools by name. The list and its bytes are made once per change. */
export class ToolRegistry {
  readonly #tools = new Map<string, Tool>();
  readonly #listeners = new Set<() => void>();
  #descriptions: readonly ToolDescription[] | undefined;
  #bytes: Buffer | undefined;

  constructor(tools: readonly Tool[]) {
    this.add(tools);
  }

  add(tools: readonly Tool[]): () => void {
    for (const [index, tool] of tools.entries()) this.#assertFits(tool, tools.slice(0, index));
    for (const tool of tools) this.#tools.set(tool.name, tool);
    this.#changed();
    return () => {
      for (const tool of tools) if (this.#tools.get(tool.name) === tool) this.#tools.delete(tool.name);
      this.#changed();
    };
  }

  find(name: string): Tool {
    const tool = this.#tools.get(name);
    if (tool) return tool;
    throw new BelljarError("TOOL_NOT_FOUND", `No tool "${name.slice(0, 100)}"; list the tools to see which there are`);
  }

  descriptions(): readonly ToolDescription[] {
    return (this.#descriptions ??= [...this.#tools.values()].map(describeTool));
  }

  bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(JSON.stringify(this.descriptions())));
  }

  onChange(listener: () => void): () => void {
    // Wrapped, so that the same function given twice is two listeners.
    const entry = (): void => listener();
    this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  #assertFits(tool: Tool, before: readonly Tool[]): void {
    if (!NAME.test(tool.name)) throw invalid(`The tool name "${tool.name.slice(0, 100)}" must match ${NAME.source}`);
    if (tool.description.length >= DESCRIPTION_MAX)
      throw invalid(`The description of "${tool.name}" has ${DESCRIPTION_MAX} characters or more`);
    if (this.#tools.has(tool.name) || before.some(({ name }) => name === tool.name)) {
      throw invalid(`There is a tool "${tool.name}" already; choose another name`);
    }
  }

  #changed(): void {
    this.#descriptions = undefined;
    this.#bytes = undefined;
    for (const listener of this.#listeners) listener();
  }
}

function invalid(message: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", message);
}
