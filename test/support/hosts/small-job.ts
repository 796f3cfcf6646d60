import type { Answer, Json, Prompt, Shown } from "./scripted-model.ts";

export interface Step {
  readonly name: string;
  /** The call, by what earlier steps were shown. */
  readonly call: (shown: ReadonlyMap<string, Shown>) => readonly [tool: string, args: Json];
}

export interface Job {
  answer(prompt: Prompt): Answer;
  /** What each step's call gave, as the model was shown it. */
  readonly shown: ReadonlyMap<string, Shown>;
}

/** A model that takes these steps one by one. Where a host keeps the schemas of tools back, it asks for them first. */
export function createJob(steps: readonly Step[]): Job {
  const shown = new Map<string, Shown>();
  const left = [...steps];
  let running: Step | undefined;
  const take = ({ results }: Prompt): void => {
    const last = results.at(-1);
    if (running && last) shown.set(running.name, last);
    running = undefined;
  };
  return {
    shown,
    answer(prompt) {
      take(prompt);
      const search = askForTools(prompt);
      if (search) return search;
      running = left.shift();
      if (!running) return { say: "Done." };
      const [tool, args] = running.call(shown);
      return { call: nameOf(prompt, tool), args };
    },
  };
}

/** What Belljar calls a tool, as the host calls it. */
function nameOf({ tools }: Prompt, name: string): string {
  const found = tools.find((tool) => ownName(tool.name) === name);
  if (!found) throw new Error(`The model is shown no ${name}, but ${tools.map((tool) => tool.name).join(", ")}`);
  return found.name;
}

/** Belljar's name of a tool of its own, without what a host puts before it; undefined for tools of others. */
export function ownName(name: string): string | undefined {
  return /^(?:mcp__?)?belljar(?:__|_|\/)([a-z]\w*)$/.exec(name)?.[1];
}

/** Claude Code names the tools that it keeps back; Codex has a search for words. */
function askForTools({ tools, words }: Prompt): Answer | undefined {
  if (tools.some(({ name }) => ownName(name) !== undefined)) return undefined;
  const names = new Set(words.match(/mcp__belljar__\w+/g));
  const search = tools.find(({ name }) => name === "ToolSearch" || name === "tool_search")?.name;
  if (search === "ToolSearch") return { call: search, args: { query: `select:${[...names].join(",")}`, max_results: names.size } };
  if (search === undefined) throw new Error(`The model is shown no tool of Belljar's, but ${tools.map(({ name }) => name).join(", ")}`);
  return { call: search, args: { query: "belljar", limit: 20 } };
}
