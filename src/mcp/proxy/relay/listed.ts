import { createHash } from "node:crypto";
import { Slices } from "../../../async/slices.ts";
import { isRecord } from "../../client/config/is-record.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { Lists } from "../sources/pinned-lists.ts";
import type { LinkOwner } from "./hub-links.ts";
import type { Listed } from "./list-server.ts";

export const NOTHING: Listed = { capabilities: {}, tools: [], resources: [], templates: [], prompts: [] };

/** A server that has said nothing yet to this process can do what it listed before. */
export function listedOf(lists: Lists, said: JsonObject | undefined): Listed {
  const of = (list: string): readonly JsonObject[] => (Array.isArray(lists[list]) ? lists[list].filter(isRecord) : []);
  const found = { tools: of("tools"), resources: of("resources"), templates: of("templates"), prompts: of("prompts") };
  const hasResources = found.resources.length + found.templates.length > 0;
  return { capabilities: said ?? { ...(hasResources && { resources: {} }), ...(found.prompts.length > 0 && { prompts: {} }) }, ...found };
}

export function linksOf(label: string, name: string, { resources, templates }: Listed): LinkOwner {
  const uris = new Set(resources.map(({ uri }) => String(uri)));
  return { label, name, uris, templates: new Set(templates.map(({ uriTemplate }) => String(uriTemplate))) };
}

/** A definition that a request uses. */
export interface UsedDefinition {
  readonly list: Exclude<keyof Listed, "capabilities">;
  /** As the server names it. */
  readonly name: string;
}

/** Undefined for a request that uses none. */
export function definitionOf(method: string, { name, uri, ref }: JsonObject): UsedDefinition | undefined {
  if (method === "tools/call") return { list: "tools", name: String(name) };
  if (method === "prompts/get") return { list: "prompts", name: String(name) };
  if (method === "resources/read") return { list: "resources", name: String(uri) };
  if (method !== "completion/complete" || !isRecord(ref)) return undefined;
  return ref["type"] === "ref/prompt" ? { list: "prompts", name: String(ref["name"]) } : { list: "templates", name: String(ref["uri"]) };
}

/** By the names of the lists, with `label`. In slices: a server may list very much. */
export async function digestsOf(listed: Listed, label: string): Promise<Readonly<Record<string, string>>> {
  const slices = new Slices();
  const digests: [string, string][] = [];
  for (const [list, value] of Object.entries({ ...listed, label: [label] })) {
    const hash = createHash("sha256");
    for (const item of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      hash.update(`${JSON.stringify(item)}\n`);
      await slices.next();
    }
    digests.push([list, hash.digest("base64")]);
  }
  return Object.fromEntries(digests);
}
