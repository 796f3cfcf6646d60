import type { StartCommand } from "../../sandbox/wire/start-command.ts";
import { invalidLine } from "./dockerfile-error.ts";
import type { CommandForm } from "./instructions.ts";

/** What a stage has come to, after each of its steps. */
export interface StageState {
  /** The runtime's own template below. */
  readonly base: string;
  /** The topmost first. */
  readonly layers: readonly string[];
  /** What the lowest of them was merged from. */
  readonly parts?: readonly string[] | undefined;
  /** Of the files of its layers. */
  readonly bytes: number;
  readonly env: Readonly<Record<string, string>>;
  /** What ARG has named, with their values. */
  readonly args: ReadonlyMap<string, string>;
  /** Absent: nobody has said one. */
  readonly user?: string | undefined;
  /** Absent: nobody has said one, and commands of the build run in `/`. */
  readonly workdir?: string | undefined;
  readonly shell: readonly string[];
  readonly entrypoint?: readonly string[] | undefined;
  readonly cmd?: readonly string[] | undefined;
  /** As of the template that it begins with. */
  readonly start?: StartCommand | undefined;
  readonly tookIn?: string | undefined;
}

/** With files of another stage or template: a template tells of one folder of the host. */
export function withOrigin(state: StageState, { tookIn }: StageState, line: number): StageState {
  if (tookIn === undefined || state.tookIn === tookIn) return state;
  if (state.tookIn === undefined) return { ...state, tookIn };
  throw invalidLine(line, "it copies the files of one folder of the host to those of another: a template may have those of one");
}

export const SHELL = ["/bin/sh", "-c"] as const;

/** The command of a step as words. */
export function toArgv(command: CommandForm, { shell }: StageState): readonly string[] {
  return "argv" in command ? command.argv : [...shell, command.text];
}
