import { BelljarError } from "../../../errors.ts";
import { isRecord } from "../config/is-record.ts";
import type { JsonObject } from "../json-object.ts";

/** A request of a client, and all that the server said to it. */
export interface Exchange {
  readonly id: unknown;
  readonly progressToken: unknown;
  /** What the server asked and told before its answer. */
  readonly before: readonly JsonObject[];
  /** Absent for a request that was never answered, as one that waits for changes. */
  readonly answer: JsonObject | undefined;
}

/** The exchanges of a recording, by what was asked, in their order. */
export type Recording = ReadonlyMap<string, readonly Exchange[]>;

/** Requests that each client words in its own way. */
const GREETINGS = ["initialize", "server/discover"];

type Open = { -readonly [Key in keyof Exchange]: Exchange[Key] } & { readonly before: JsonObject[] };

/**
 * Reads lines of `{server, direction, message}`. Throws `CONFIG_INVALID` for a line that is none, and for a recording of several servers
 * of which none, or another one, is named.
 */
export function readRecording(text: string, file: string, server?: string): Recording {
  const records = text.split("\n").flatMap((line, index) => (line.trim() === "" ? [] : [readLine(line, file, index + 1)]));
  const names = [...new Set(records.map((record) => record.server))];
  const wanted = server ?? (names.length === 1 ? names[0] : undefined);
  if (wanted === undefined || !names.includes(wanted))
    throw new BelljarError("CONFIG_INVALID", `${file} is a recording of ${names.slice(0, 20).join(", ") || "nothing"}: name one of them`);
  return toExchanges(records.filter((record) => record.server === wanted));
}

/** Deeper messages have no key: a walk through them, or their text, would end the stack. */
const DEPTH_MAX = 200;

/** What is the same in two requests that want the same: all but what the client says of itself. Throws `CONFIG_INVALID` for one too deep. */
export function keyOf({ method, params }: JsonObject): string {
  if (typeof method === "string" && GREETINGS.includes(method)) return method;
  const { _meta, ...rest } = isRecord(params) ? params : {};
  return JSON.stringify([method, sorted(rest)]);
}

/** The order of fields means nothing. */
function sorted(value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX) throw new BelljarError("CONFIG_INVALID", `A message is nested more than ${DEPTH_MAX} deep`);
  if (Array.isArray(value)) return value.map((inner) => sorted(inner, depth + 1));
  if (!isRecord(value)) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner, depth + 1)]);
}

interface Line {
  readonly server: string;
  readonly direction: string;
  readonly message: JsonObject;
}

function readLine(line: string, file: string, number: number): Line {
  try {
    const value: unknown = JSON.parse(line);
    if (isRecord(value)) {
      const { server, direction, message } = value;
      if (typeof server === "string" && (direction === "sent" || direction === "received") && isRecord(message))
        return { server, direction, message };
    }
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
  }
  throw new BelljarError("CONFIG_INVALID", `${file}, line ${number}: it is no line of a recording, {"server", "direction", "message"}`);
}

function toExchanges(records: readonly Line[]): Recording {
  const byKey = new Map<string, Open[]>();
  const open = new Map<unknown, Open>();
  const byToken = new Map<unknown, Open>();
  let last: Open | undefined;
  for (const { direction, message } of records) {
    const isRequest = typeof message["method"] === "string" && message["id"] !== undefined;
    if (direction === "sent" && isRequest) {
      last = { id: message["id"], progressToken: tokenOf(message), before: [], answer: undefined };
      open.set(last.id, last);
      if (last.progressToken !== undefined) byToken.set(last.progressToken, last);
      const key = keyOf(message);
      const same = byKey.get(key);
      if (same) same.push(last);
      else byKey.set(key, [last]);
    } else if (direction === "received" && typeof message["method"] === "string") {
      ownerOf(message, byToken, last)?.before.push(message);
    } else if (direction === "received") {
      const asked = open.get(message["id"]);
      if (asked) asked.answer ??= message;
      open.delete(message["id"]);
      if (byToken.get(asked?.progressToken) === asked) byToken.delete(asked?.progressToken);
    }
  }
  return byKey;
}

/** Progress says whose it is; all else belongs to the newest request. */
function ownerOf({ params }: JsonObject, byToken: ReadonlyMap<unknown, Open>, last: Open | undefined): Open | undefined {
  return (isRecord(params) ? byToken.get(params["progressToken"]) : undefined) ?? last;
}

function tokenOf({ params }: JsonObject): unknown {
  const meta = isRecord(params) ? params["_meta"] : undefined;
  return isRecord(meta) ? meta["progressToken"] : undefined;
}
