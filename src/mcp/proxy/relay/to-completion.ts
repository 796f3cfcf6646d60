import { isRecord } from "../../client/config/is-record.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { Completion } from "../../server/asker.ts";

const VALUES_MAX = 100;

/** What a server proposes; what is no text is left out. */
export function toCompletion({ completion }: JsonObject): Completion {
  const { values, total, hasMore } = isRecord(completion) ? completion : {};
  const texts = (Array.isArray(values) ? values : []).filter((value) => typeof value === "string");
  return {
    values: texts.slice(0, VALUES_MAX),
    ...(typeof total === "number" && { total }),
    ...(typeof hasMore === "boolean" && { hasMore }),
  };
}
