import { isRecord } from "../../client/config/is-record.ts";
import type { JsonObject } from "../../client/json-object.ts";

/** What a URI of a server is for its caller. */
export type Relink = (uri: string) => string;

/** A block of content with its link, or its embedded resource, under the caller's URI. */
export function relinkBlock(block: unknown, relink: Relink): unknown {
  if (!isRecord(block)) return block;
  if (block["type"] === "resource_link") return relinkUri(block, relink);
  return block["type"] === "resource" ? { ...block, resource: relinkUri(block["resource"], relink) } : block;
}

/** Whatever names a resource by `uri`. */
export function relinkUri(value: unknown, relink: Relink): unknown {
  return isRecord(value) && typeof value["uri"] === "string" ? { ...value, uri: relink(value["uri"]) } : value;
}

/** What stands beside a tool or an answer: `_meta.ui.resourceUri` names a resource, as `_meta["ui/resourceUri"]` did before. */
export function relinkMeta<Given extends JsonObject>(value: Given, relink: Relink): Given {
  const meta = value["_meta"];
  if (!isRecord(meta)) return value;
  const { ui, "ui/resourceUri": old } = meta;
  const isUi = isRecord(ui) && typeof ui["resourceUri"] === "string";
  if (!isUi && typeof old !== "string") return value;
  const changed = {
    ...(isUi && { ui: { ...ui, resourceUri: relink(String(ui["resourceUri"])) } }),
    ...(typeof old === "string" && { "ui/resourceUri": relink(old) }),
  };
  return { ...value, _meta: { ...meta, ...changed } };
}
