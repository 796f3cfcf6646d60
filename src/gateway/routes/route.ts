import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Access } from "../auth/access.ts";

/** One request to a route, which was let in and fits the route's schemas. */
export interface Asked<Params = unknown, Query = unknown, Body = unknown> {
  /** Who asks. Throws on a route that is open to everybody. */
  readonly caller: Principal;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly requestId: string;
  /** Tells the audit the sandbox's full id. Otherwise its line has the `:id` of the path, which may be a short id. */
  readonly reached: (sandboxId: string) => void;
  /** Aborts when the client goes before it has its answer. */
  readonly signal: AbortSignal;
  /** Of this server, by the name that the client asked. */
  readonly origin: string;
  /** For what HTTP alone tells, as its headers. */
  readonly request: Pick<IncomingMessage, "headers" | "url" | "method">;
  /** Of the answer; default JSON. */
  setType(type: string): void;
  /** One of the route's `answers` that is not its first. */
  setStatus(status: number): void;
  /** Of the answer. */
  setHeader(name: string, value: string): void;
  /** Leaves the answer to the route, which then writes it, and what fails, by itself. */
  takeOver(): { readonly request: IncomingMessage; readonly response: ServerResponse };
}

/** What a route takes in, if not JSON of the usual size. Anything else is refused before it is read. */
export interface TakenBody {
  /** Default `application/json`. A body of another type is given as a stream. */
  readonly types?: readonly string[];
  /** Default 4 MiB. */
  readonly limitBytes?: number;
  /** It may be asked without a body, and then without a type. Its schema must take undefined. */
  readonly isOptional?: true;
  /** A body of no type is taken as one of these. */
  readonly isUntyped?: true;
}

/** One method and path of a surface: what it asks of its caller, what it takes, what it answers. */
export interface Route<Params = unknown, Query = unknown, Body = unknown> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `:name` for what varies, a whole segment. */
  readonly path: string;
  readonly access: Access;
  /** One line, for the reference. */
  readonly summary: string;
  /** What comes in is checked by these, and described by them. */
  readonly params?: z.ZodType<Params>;
  readonly query?: z.ZodType<Query>;
  /** Absent: the route takes none, and may be asked without a content type. */
  readonly body?: z.ZodType<Body>;
  readonly takes?: TakenBody;
  /**
   * By status. The first one is that of a success; `null`: without a body. The schema's `contentTypes` (`.meta`) are the types with which
   * the route answers, by default JSON alone. Of a type that is lines, the schema is that of a line.
   */
  readonly answers: Readonly<Record<number, z.ZodType | null>>;
  /** The answer's body; undefined for none. */
  handle(asked: Asked<Params, Query, Body>): Promise<unknown>;
}

/** Gives the route's handler the types of its schemas. */
export function defineRoute<Params, Query, Body>(route: Route<Params, Query, Body>): Route {
  return route;
}

export function methodAndPath({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method} ${path}`;
}
