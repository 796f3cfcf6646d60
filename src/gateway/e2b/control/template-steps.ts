import { posix } from "node:path";
import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import { printable } from "../../../files/printable.ts";
import { isArchiveHash } from "../../../template/archives/build-archives.ts";
import type { Step } from "../../../template/build/instructions.ts";
import type { Dockerfile } from "../../../template/build/parse-dockerfile.ts";

const STEPS_MAX = 1_000;
const ARGUMENTS_MAX = 512;
/** The kernel's own limit for an argument, with the byte at its end. */
const TEXT_MAX = 131_071;
const SHOWN_MAX = 200;
export const ROOT = "root";
const USER = "user";
const HOME = `/home/${USER}`;
const GLOB = /[*?[{]|[!@+]\(/;

const text = z
  .string()
  .max(TEXT_MAX)
  .refine((value) => !value.includes("\0"), "must not hold a NUL byte");

export const stepSchema = z.object({
  type: z.string().max(64),
  args: z.array(text).max(ARGUMENTS_MAX).nullish(),
  filesHash: z.string().max(128).nullish(),
  force: z.boolean().nullish(),
});
export const stepsSchema = z.array(stepSchema).max(STEPS_MAX);

export type TemplateStep = Readonly<z.output<typeof stepSchema>>;

/** What the steps begin with. */
export interface StepsBase {
  readonly image: string;
  readonly only?: "template" | "image";
  /** As which commands run, and where, before a step says so. Absent: as E2B's `user`, in its home. */
  readonly user?: string | undefined;
  readonly workdir?: string | undefined;
}

/** A build, with the archives that it copies from, by their hashes. */
export interface BuildOfSteps {
  readonly file: Dockerfile;
  readonly hashes: readonly string[];
  readonly freshFrom: number | undefined;
  /** What the step was to do, for people. */
  describe(step: number): StepWish | undefined;
}

export interface StepWish {
  readonly command: string;
  readonly user: string;
}

/** Who an image has to have, as E2B's builds make them. */
const ADD_USER = `
set -e
grep -q '^${USER}:' /etc/passwd && exit 0
id=1000
while cut -d: -f3 /etc/passwd /etc/group 2>/dev/null | grep -qx "$id"; do id=$((id + 1)); done
shell=/bin/sh
[ ! -x /bin/bash ] || shell=/bin/bash
echo "${USER}:x:$id:$id::${HOME}:$shell" >>/etc/passwd
echo "${USER}:x:$id:" >>/etc/group
mkdir -p ${HOME}
chown "$id:$id" ${HOME}
`;

/** The shell that E2B runs commands in, where an image has it. */
const IN_SHELL = 'if [ -x /bin/bash ]; then exec /bin/bash -l -c "$1"; else exec /bin/sh -l -c "$1"; fi';

/** Puts steps into the form of the builder. No text of theirs is read by a shell but that of RUN. Throws `ARGUMENTS_INVALID`. */
export function toBuild(steps: readonly TemplateStep[], base: StepsBase, isForced: boolean): BuildOfSteps {
  const translated = new Translation(steps, base);
  const { image, only } = base;
  const stage = { kind: "from", line: 0, image, ...(only && { only }), steps: translated.all() } as const;
  const firstForced = steps.findIndex(({ force }) => force === true);
  return {
    file: { stages: [stage], args: new Map(), escape: "\\", counts: "steps" },
    hashes: [...translated.hashes],
    freshFrom: isForced ? 0 : firstForced < 0 ? undefined : firstForced + 1,
    describe: (step) => translated.wishes.get(step),
  };
}

class Translation {
  readonly hashes = new Set<string>();
  readonly wishes = new Map<number, StepWish>();
  readonly #steps: readonly TemplateStep[];
  readonly #base: StepsBase;
  #user: string;

  constructor(steps: readonly TemplateStep[], base: StepsBase) {
    this.#steps = steps;
    this.#base = base;
    this.#user = base.user ?? USER;
  }

  all(): readonly Step[] {
    return [...this.#begin(), ...this.#steps.flatMap((step, index) => this.#translate(step, index + 1))];
  }

  #begin(): readonly Step[] {
    const { only, user, workdir } = this.#base;
    const silent = { line: 0, text: "" };
    const argv = ["/bin/sh", "-c", ADD_USER];
    return [
      ...(only === "image" ? [{ ...silent, kind: "user", value: ROOT } as const] : []),
      ...(only === "image" ? [{ ...silent, kind: "run", command: { argv }, mounts: [] } as const] : []),
      ...(user === undefined ? [{ ...silent, kind: "user", value: USER } as const] : []),
      ...(workdir === undefined ? [{ ...silent, kind: "workdir", value: HOME } as const] : []),
    ];
  }

  #translate({ type, args, filesHash }: TemplateStep, line: number): readonly Step[] {
    const [first = "", ...more] = args ?? [];
    const common = { line, text: this.#show(type, args ?? [], line) };
    switch (type.toUpperCase()) {
      case "RUN":
        return this.#run(common, first, more[0]);
      case "COPY":
      case "ADD":
        return [this.#copy(common, [first, ...more], filesHash ?? "")];
      case "ENV":
      case "ARG":
        // Each may name those before it.
        return toPairs([first, ...more], line).map((pair, index) => ({
          ...common,
          ...(index > 0 && { text: "" }),
          kind: "env",
          pairs: [pair],
        }));
      case "WORKDIR":
        return [{ ...common, kind: "workdir", value: variables(this.#fromHome(need(first, line))), owner: this.#user }];
      case "USER":
        this.#user = need(first, line);
        return [{ ...common, kind: "user", value: literal(first) }];
      default:
        throw invalid(line, `${JSON.stringify(type)} is no type: there are RUN, COPY, ENV, WORKDIR and USER`);
    }
  }

  #show(type: string, args: readonly string[], line: number): string {
    const said = printable(args.filter((arg) => arg !== "").join(" "));
    return `[${line}/${this.#steps.length}] ${type.toUpperCase()} ${said.length > SHOWN_MAX ? `${said.slice(0, SHOWN_MAX)}...` : said}`;
  }

  /** One command of another user changes nobody else's. */
  #run(common: { readonly line: number; readonly text: string }, command: string, other: string | undefined): readonly Step[] {
    const { line } = common;
    const user = other === undefined || other === "" ? this.#user : other;
    this.wishes.set(line, { command: need(command, line), user });
    const run = { ...common, kind: "run", command: { argv: ["/bin/sh", "-c", IN_SHELL, "run", command] }, mounts: [] } as const;
    if (user === this.#user) return [run];
    const as = (value: string): Step => ({ line, text: "", kind: "user", value: literal(value) });
    return [as(user), run, as(this.#user)];
  }

  /** The archive has what the source names, by the names of the context. */
  #copy(common: { readonly line: number; readonly text: string }, args: readonly string[], hash: string): Step {
    const { line } = common;
    const [source = "", destination = "", user = "", mode = ""] = args;
    if (!isArchiveHash(hash)) throw invalid(line, "its filesHash is no SHA-256 in hexadecimal digits");
    this.hashes.add(hash);
    return {
      ...common,
      kind: "copy",
      word: "COPY",
      from: hash,
      sources: [literal(withoutGlob(need(source, line), line))],
      destination: variables(this.#fromHome(need(destination, line))),
      chown: literal(user === "" ? this.#user : user),
      ...(mode !== "" && { chmod: literal(mode) }),
    };
  }

  #fromHome(path: string): string {
    return path.replace(/^~(?=\/|$)/, this.#user === ROOT ? "/root" : `/home/${this.#user}`);
  }
}

/** What stands before the first part with a wildcard: the archive has nothing but what fits. */
function withoutGlob(source: string, line: number): string {
  const parts = posix.normalize(source).split("/");
  if (source.startsWith("/") || parts[0] === "..") throw invalid(line, "it copies from outside of its context");
  const glob = parts.findIndex((part) => GLOB.test(part));
  return (glob < 0 ? parts : parts.slice(0, glob)).join("/") || ".";
}

function toPairs(args: readonly string[], line: number): readonly (readonly [string, string])[] {
  if (args.length % 2 !== 0 || args[0] === "") throw invalid(line, "its arguments are names, each with a value behind it");
  return Array.from({ length: args.length / 2 }, (_, index) => {
    const [name = "", value = ""] = args.slice(index * 2, index * 2 + 2);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw invalid(line, `${JSON.stringify(name.slice(0, 80))} is no name of a variable`);
    return [name, variables(value)] as const;
  });
}

/** As the builder reads it: nothing in it means anything. */
function literal(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

/** As the builder reads it: `$NAME` and `${NAME}` stand for variables of the steps before. A backslash takes that away, and else is one. */
function variables(value: string): string {
  return `"${value.replaceAll(/\\(?!\$)|"/g, "\\$&")}"`;
}

function need(value: string, line: number): string {
  if (value !== "") return value;
  throw invalid(line, "an argument is empty that it needs");
}

function invalid(line: number, problem: string): BelljarError {
  return new BelljarError("ARGUMENTS_INVALID", `Step ${line} of the template: ${problem}`);
}
