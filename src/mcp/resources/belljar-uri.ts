import { BelljarError } from "../../errors.ts";

/** What an address names. `offset` and `limit` are bytes. */
export type BelljarUri =
  | { readonly kind: "sandboxes" }
  | { readonly kind: "sandbox"; readonly id: string }
  | ({ readonly kind: "file"; readonly id: string; readonly path: string } & Range)
  | { readonly kind: "templates" }
  | { readonly kind: "template"; readonly name: string }
  | ({ readonly kind: "result"; readonly id: string } & Range);

export interface Range {
  readonly offset?: number;
  readonly limit?: number;
}

const URI_MAX = 8_192;
const RANGE_MAX = 262_144;

export const TEMPLATES = {
  sandbox: "belljar://sandboxes/{id}",
  file: "belljar://sandboxes/{id}/files/{+path}{?offset,limit}",
  template: "belljar://templates/{name}",
  result: "belljar://results/{id}{?offset,limit}",
} as const;

/** Throws `RESOURCE_NOT_FOUND` for what no address of ours looks like. */
export function parseUri(text: string): BelljarUri {
  const uri = text.length <= URI_MAX && URL.canParse(text) ? new URL(text) : undefined;
  const parsed = uri?.protocol === "belljar:" && uri.username === "" && uri.port === "" && uri.hash === "" ? parsePath(uri) : undefined;
  if (parsed) return parsed;
  throw new BelljarError(
    "RESOURCE_NOT_FOUND",
    `No resource ${JSON.stringify(text.slice(0, 200))}; list the resources to see which there are`,
  );
}

export function fileUri(id: string, path: string): string {
  return `belljar://sandboxes/${id}/files/${path.split("/").map(encodeURIComponent).join("/")}`;
}

function parsePath(uri: URL): BelljarUri | undefined {
  const [first = "", second, ...rest] = decodePath(uri.pathname.slice(1));
  switch (uri.hostname) {
    case "sandboxes":
      if (first === "") return second === undefined ? { kind: "sandboxes" } : undefined;
      if (second === undefined) return { kind: "sandbox", id: first };
      return second === "files" && rest.join("") !== ""
        ? { kind: "file", id: first, path: `/${rest.join("/")}`, ...parseRange(uri) }
        : undefined;
    case "templates":
      if (second !== undefined) return undefined;
      return first === "" ? { kind: "templates" } : { kind: "template", name: first };
    case "results":
      return first !== "" && second === undefined ? { kind: "result", id: first, ...parseRange(uri) } : undefined;
    default:
      return undefined;
  }
}

function decodePath(path: string): readonly string[] {
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    // Not the encoding of any name: an address of nothing.
    return ["", ""];
  }
}

function parseRange({ searchParams }: URL): Range {
  const offset = parseCount("offset", searchParams.get("offset"), 0);
  const limit = parseCount("limit", searchParams.get("limit"), 1);
  return { ...(offset !== undefined && { offset }), ...(limit !== undefined && { limit: Math.min(limit, RANGE_MAX) }) };
}

function parseCount(name: string, text: string | null, least: number): number | undefined {
  if (text === null) return undefined;
  if (/^[0-9]{1,15}$/.test(text) && Number(text) >= least) return Number(text);
  throw new BelljarError("ARGUMENTS_INVALID", `${name} must be a whole number of bytes from ${least}`);
}
