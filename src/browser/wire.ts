import * as z from "zod";
import { DRIVER_CODES } from "./driver-codes.ts";

const ERROR_MAX_CHARACTERS = 8_000;

const Failure = z.strictObject({ code: z.enum(DRIVER_CODES), message: z.string().max(ERROR_MAX_CHARACTERS) });

/** What the driver says, each once for each request. Everything else closes it. */
export const DriverMessage = z.discriminatedUnion("type", [
  /** It has no browser yet, and starts one when it is told to. */
  z.strictObject({ type: z.literal("waiting") }),
  /** Chromium runs. */
  z.strictObject({ type: z.literal("ready"), version: z.string().max(200) }),
  /** Chromium could not be started. */
  z.strictObject({ type: z.literal("failed"), error: Failure }),
  z.strictObject({
    type: z.literal("answer"),
    id: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
    /** Of the action; its own schema is asked next. */
    value: z.unknown().optional(),
    error: Failure.optional(),
    /** The picture came right before it. */
    picture: z.enum(["image/png", "image/jpeg"]).optional(),
  }),
]);
export type DriverMessage = z.infer<typeof DriverMessage>;
export type DriverAnswer = Extract<DriverMessage, { readonly type: "answer" }>;

/** What the server says. The driver believes it. */
export interface DriverRequest {
  readonly type: "request";
  readonly id: number;
  /** Whose tabs. */
  readonly session: string;
  readonly action: string;
  readonly args: unknown;
  /** Milliseconds from when it comes. */
  readonly timeoutMs: number;
}

export type ServerMessage =
  | DriverRequest
  /** To one that waits, and to it alone: start the browser. */
  | { readonly type: "start"; readonly options: DriverOptions; readonly env: Readonly<Record<string, string>> }
  /** The caller waits no longer. It is answered all the same. */
  | { readonly type: "cancel"; readonly id: number }
  /** Nobody of this session comes again: its tabs go. */
  | { readonly type: "leave"; readonly session: string }
  /** Write the cookies down, for a state of the sandbox that is taken now. Answered. */
  | { readonly type: "keep"; readonly id: number }
  /** The state is taken. */
  | { readonly type: "kept" }
  /** Nobody uses the browser: it ends as a person would end it. */
  | { readonly type: "end" };

/** What the driver is started with, as its one argument, or gets in `start` if it waits. */
export interface DriverOptions {
  /** Chromium's program, the first that is there. */
  readonly executables: readonly string[];
  /** A tab that is not its session's current one is frozen after so long without a call. */
  readonly restMs: number;
  /** Where pages go out: `sandbox` has the proxy of a sandbox, `machine` what its variables say, or no proxy. */
  readonly network: "sandbox" | "machine";
}
