import type MiniSearch from "minisearch";
import type { FoundTool, Tool, ToolSearch } from "./tool.ts";

const SUMMARY_MAX = 200;
const FIELDS = ["name", "title", "toolset", "description"];

/** Ranks tools by BM25 over their words. The index is made with the first search. */
export class ToolIndex {
  readonly #tools: readonly Tool[];
  #index: Promise<MiniSearch<Row>> | undefined;

  constructor(tools: readonly Tool[]) {
    this.#tools = tools;
  }

  /** The best `limit` of those that `isWanted` lets through, and without a word to look for, the first. */
  async search(query: string, limit: number, isWanted: (tool: Tool) => boolean): Promise<ToolSearch> {
    const wanted = new Map(this.#tools.filter(isWanted).map((tool) => [tool.name, tool]));
    const names = query.trim() === "" ? [...wanted.keys()] : (await this.#ranked(query)).filter((name) => wanted.has(name));
    return { tools: names.slice(0, limit).flatMap((name) => toFound(wanted.get(name))), total: names.length };
  }

  async #ranked(query: string): Promise<readonly string[]> {
    const index = await (this.#index ??= buildIndex(this.#tools));
    return index.search(query).map(({ id }) => String(id));
  }
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly toolset: string;
  readonly description: string;
}

async function buildIndex(tools: readonly Tool[]): Promise<MiniSearch<Row>> {
  const { default: Index } = await import("minisearch");
  const index = new Index<Row>({
    fields: FIELDS,
    tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean),
    searchOptions: { boost: { name: 4, title: 3, toolset: 2 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false) },
  });
  index.addAll(tools.map(({ name, title, toolset, description }) => ({ id: name, name, title, toolset, description })));
  return index;
}

function toFound(tool: Tool | undefined): readonly FoundTool[] {
  if (!tool) return [];
  const [sentence = ""] = /^.*?[.!?](?=\s|$)/s.exec(tool.description) ?? [tool.description];
  const summary = sentence.length > SUMMARY_MAX ? `${sentence.slice(0, SUMMARY_MAX - 3)}...` : sentence;
  return [{ name: tool.name, title: tool.title, summary: summary.replaceAll(/\s+/g, " "), toolset: tool.toolset }];
}
