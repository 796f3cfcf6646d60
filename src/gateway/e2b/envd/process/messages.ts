import * as z from "zod";
import { protoMessage } from "../connect/proto-message.ts";

/** The messages of `process.Process`, in the JSON of proto3. What a client leaves out has its default. */

const uint = z.number().int().min(0).max(4_294_967_295);
const edge = z.number().int().min(0).max(65_535).default(0);
const size = protoMessage({ cols: edge, rows: edge });
const pty = protoMessage({ size: size.optional() });
/** Both alphabets of base64, as proto3 takes them. */
const base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/);

const config = {
  cmd: z.string().default(""),
  args: z.array(z.string()).default([]),
  envs: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
};

/** One of both. */
const selector = protoMessage({ pid: uint.optional(), tag: z.string().optional() });
const input = protoMessage({ stdin: base64.optional(), pty: base64.optional() });
const inProcess = { process: selector };

export const startRequest = protoMessage({
  process: protoMessage(config),
  pty: pty.optional(),
  tag: z.string().optional(),
  stdin: z.boolean().default(true),
});
export const connectRequest = protoMessage(inProcess);
export const listRequest = protoMessage({});
export const inputRequest = protoMessage({ ...inProcess, input });
export const closeRequest = protoMessage(inProcess);
export const updateRequest = protoMessage({ ...inProcess, pty: pty.optional() });
export const streamRequest = protoMessage({
  start: protoMessage(inProcess).optional(),
  data: protoMessage({ input }).optional(),
  keepalive: protoMessage({}).optional(),
});

/** By name or by number. Others are no part of the protocol. */
const SIGNALS = { SIGNAL_SIGKILL: 9, SIGNAL_SIGTERM: 15 } as const;
export const signalRequest = protoMessage({
  ...inProcess,
  signal: z.union([z.enum(["SIGNAL_SIGKILL", "SIGNAL_SIGTERM"]).transform((name) => SIGNALS[name]), z.literal([9, 15])]),
});

export const empty = z.object({});
export const processEvent = z.object({
  event: z.union([
    z.object({ start: z.object({ pid: uint }) }),
    z.object({ data: z.union([z.object({ stdout: base64 }), z.object({ stderr: base64 }), z.object({ pty: base64 })]) }),
    z.object({
      end: z.object({
        exitCode: z.number().int().optional(),
        exited: z.boolean().optional(),
        status: z.string(),
        error: z.string().optional(),
      }),
    }),
    z.object({ keepalive: empty }),
  ]),
});
export const listAnswer = z.object({
  processes: z.array(z.object({ config: z.object(config), pid: uint, tag: z.string().optional() })).readonly(),
});

export type ProcessEvent = z.output<typeof processEvent>;
export type StartRequest = z.output<typeof startRequest>;
export type Selector = z.output<typeof selector>;
export type Input = z.output<typeof input>;
export type Size = z.output<typeof size>;
