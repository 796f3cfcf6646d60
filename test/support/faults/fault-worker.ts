import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { WorkerHome } from "../home-worker.ts";
import type { Content, Operation, TemplateOperation } from "./operation.ts";

const WORKER = join(import.meta.dirname, "../../fixtures/fault-worker.mjs");

export interface SeenSandbox {
  readonly id: string;
  readonly state: string;
  readonly points: readonly string[];
  /** Absent for a stopped one that was left alone. */
  readonly content?: Content;
}

export interface Seen {
  readonly sandboxes: readonly SeenSandbox[];
  readonly snapshots: readonly string[];
}

export interface SeenTemplate {
  readonly name: string;
  /** The digest of its image. */
  readonly digest: string;
  /** What files of it hold that were asked for, in a sandbox on it. */
  readonly texts?: readonly string[];
}

/** `start`: the templates of which sandboxes are made, with the files to read there. */
export interface TemplateLook {
  readonly kind: "lookTemplates";
  readonly start: Readonly<Record<string, readonly string[]>>;
}

/** A line of `test/fixtures/fault-worker.mjs`. */
interface Fact {
  readonly begun?: string;
  readonly done?: Done;
  readonly failed?: string;
  readonly why?: string;
  readonly problem?: string;
}

export interface Done extends Partial<Seen> {
  readonly made?: readonly string[];
  readonly point?: string;
  readonly snapshot?: string;
  readonly digest?: string;
  readonly templates?: readonly SeenTemplate[];
  /** Of a look at templates: what is there of layers, records and sandboxes that no template needs. Of "sweepOld": what is still there of frozen layers and of the pool. */
  readonly left?: readonly string[];
}

/** How an operation came out: `unknown` if the process was killed before it said so. */
export type Outcome = { readonly done: Done } | { readonly failed: string; readonly why: string } | "unknown";

export interface FaultWorker {
  readonly pid: number;
  readonly problems: readonly string[];
  /** `begun` resolves just before it begins, `outcome` with what the process said of it, or at its end. */
  ask(
    request:
      | Operation
      | TemplateOperation
      | TemplateLook
      | { readonly kind: "look"; readonly start: readonly string[] }
      | { readonly kind: "sweepOld" },
  ): {
    readonly begun: Promise<void>;
    readonly outcome: Promise<Outcome>;
  };
  /** Kills it with -9. Resolves when it is gone and all that it said is read. */
  kill(): Promise<void>;
}

/** `enter`: a command that runs the command after it, in other namespaces. */
export function startFaultWorker(home: WorkerHome, enter: readonly string[] = []): FaultWorker {
  const child = spawn("env", [...enter, process.execPath, WORKER, JSON.stringify(home)], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.on("error", () => undefined); // it was killed
  const closed = once(child, "close");
  const problems: string[] = [];
  let hear: (fact: Fact | undefined) => void = () => undefined;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const fact = parseFact(line);
    if (fact?.problem !== undefined) problems.push(fact.problem);
    else if (fact) hear(fact);
  });
  void closed.then(() => hear(undefined));
  return {
    pid: child.pid ?? 0,
    problems,
    ask(request) {
      let begin: () => void = () => undefined;
      const begun = new Promise<void>((resolve) => (begin = resolve));
      const outcome = new Promise<Outcome>((resolve) => {
        hear = (fact) => {
          if (fact?.begun === undefined) resolve(toOutcome(fact));
          begin();
        };
      });
      child.stdin.write(`${JSON.stringify(request)}\n`);
      return { begun, outcome };
    },
    async kill() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

function toOutcome(fact: Fact | undefined): Outcome {
  if (fact?.done) return { done: fact.done };
  return fact?.failed === undefined ? "unknown" : { failed: fact.failed, why: fact.why ?? "" };
}

/** A killed process may have been cut short in the middle of a line. */
function parseFact(line: string): Fact | undefined {
  try {
    return JSON.parse(line) as Fact;
  } catch {
    return undefined;
  }
}
