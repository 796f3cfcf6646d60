import type * as z from "zod";
import type { Access } from "../../../auth/access.ts";
import { DOOR } from "../../../auth/access.ts";
import type { Asked, Route } from "../../../routes/route.ts";
import { defineRoute } from "../../../routes/route.ts";

/** A call of Connect's with one message each way: plain JSON over HTTP. */
export interface UnaryCall<Input, Output> {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly summary: string;
  readonly input: z.ZodType<Input>;
  readonly output: z.ZodType<Output>;
  /** Default 4 MiB. */
  readonly limitBytes?: number;
  /** Default: whoever was let in. What changes something has a line in the audit. */
  readonly access?: Access;
  handle(asked: Asked<unknown, unknown, Input>): Promise<Output>;
}

/** Its failures are told by the surface, in Connect's words. */
export function defineUnary<Input, Output>(call: UnaryCall<Input, Output>): Route {
  const { path, summary, input, output, limitBytes, access = DOOR } = call;
  return defineRoute({
    method: "POST",
    path,
    access,
    summary,
    body: input,
    ...(limitBytes !== undefined && { takes: { limitBytes } }),
    answers: { 200: output },
    handle: (asked) => call.handle(asked),
  });
}
