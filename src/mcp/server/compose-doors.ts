import { BelljarError } from "../../errors.ts";
import type { PromptDescription, PromptDoor } from "./prompt-door.ts";
import type { ResourceDoor } from "./resource-door.ts";

/** One door of several sources of resources: of two that know a URI the earlier one answers. A change is told as its source tells it. */
export function composeResources(sources: readonly ResourceDoor[]): ResourceDoor {
  return {
    async list(principal, cursor) {
      const { index, inner } = parseCursor(cursor, sources.length);
      const page = await sources[index]?.list(principal, inner);
      const { resources = [], nextCursor } = page ?? {};
      if (nextCursor !== undefined) return { resources, nextCursor: `${index}:${nextCursor}` };
      return { resources, ...(index + 1 < sources.length && { nextCursor: `${index + 1}` }) };
    },
    templates: (principal) => sources.flatMap((source) => source.templates(principal)),
    read: (asker, uri) => firstWith(sources, "RESOURCE_NOT_FOUND", (source) => source.read(asker, uri)),
    async complete(asker, uriTemplate, argument) {
      const all = await Promise.all(sources.map((source) => source.complete(asker, uriTemplate, argument)));
      const found = all.filter(({ values }) => values.length > 0);
      return found.length > 1 ? { values: found.flatMap(({ values }) => values) } : (found[0] ?? { values: [] });
    },
    watch: (asker, uri) => firstWith(sources, "RESOURCE_NOT_FOUND", (source) => source.watch(asker, uri)),
    onUpdate: (listener) => onEach(sources.map((source) => source.onUpdate(listener))),
    onListChange: (listener) => onEach(sources.map((source) => source.onListChange(listener))),
  };
}

/** One door of several sources of prompts: of two prompts of one name the earlier source's is there. */
export function composePrompts(sources: readonly PromptDoor[]): PromptDoor {
  return {
    list(principal) {
      const byName = new Map<string, PromptDescription>();
      for (const prompt of sources.flatMap((source) => source.list(principal)))
        if (!byName.has(prompt.name)) byName.set(prompt.name, prompt);
      return [...byName.values()];
    },
    get: (asker, name, args) => firstWith(sources, "PROMPT_NOT_FOUND", (source) => source.get(asker, name, args)),
    async complete(asker, name, argument) {
      const owner = sources.find((source) => source.list(asker.principal).some((prompt) => prompt.name === name));
      return (await owner?.complete(asker, name, argument)) ?? { values: [] };
    },
    onChange: (listener) => onEach(sources.map((source) => source.onChange(listener))),
  };
}

/** What the first source answers that knows it; the first refusal when none does. */
async function firstWith<Source, Answer>(
  sources: readonly Source[],
  missing: "RESOURCE_NOT_FOUND" | "PROMPT_NOT_FOUND",
  ask: (source: Source) => Promise<Answer>,
): Promise<Answer> {
  let refusal: unknown = new BelljarError(missing, "There is nothing of that name; list to see what there is");
  for (const [index, source] of sources.entries()) {
    try {
      return await ask(source);
    } catch (error) {
      if (!(error instanceof BelljarError) || error.code !== missing) throw error;
      if (index === 0) refusal = error;
    }
  }
  throw refusal;
}

/** `2:CURSOR` is a page of the third source, `2` its first one. */
function parseCursor(cursor: string | undefined, sources: number): { readonly index: number; readonly inner?: string } {
  const [, digits = "0", inner] = /^([0-9]{1,4})(?::(.*))?$/s.exec(cursor ?? "0") ?? [undefined, "x"];
  const index = Number(digits);
  if (index < Math.max(1, sources)) return { index, ...(inner !== undefined && { inner }) };
  throw new BelljarError("ARGUMENTS_INVALID", "The cursor is unknown: list again from the start");
}

function onEach(stops: readonly (() => void)[]): () => void {
  return () => stops.forEach((stop) => stop());
}
