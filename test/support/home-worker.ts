import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

const WORKER = join(import.meta.dirname, "../fixtures/home-worker.mjs");

export interface WorkerHome {
  readonly home: string;
  readonly runtimeDirectory: string;
  readonly storage: "tmpfs" | "home" | "btrfs";
  readonly binary: string;
  readonly marker: string;
  /** The sandbox that "restart" is about. */
  readonly id?: string;
}

/** One line of `test/fixtures/home-worker.mjs`. */
export interface WorkerFact {
  readonly found?: readonly string[];
  readonly made?: string;
  readonly ephemeral?: boolean;
  readonly ending?: string;
  readonly problem?: string;
  /** Of "restart": what it is about to do or has done, in which turn, and the file that it wrote. */
  readonly step?: "starting" | "started" | "wrote" | "stopping" | "stopped";
  readonly turn?: number;
  readonly wrote?: string;
}

/** A process that works on a home. Whoever starts it ends it or waits for its end. */
export interface HomeWorker {
  readonly pid: number;
  /** All that it has said so far. */
  readonly facts: readonly WorkerFact[];
  /** Resolves with the first line of which this is so. */
  says(isSo: (fact: WorkerFact) => boolean): Promise<WorkerFact>;
  /** Kills it with -9; resolves when it is gone and all that it said is read. */
  kill(): Promise<void>;
  /** How it ended by itself. */
  readonly exit: Promise<number | null>;
}

export function startWorker(task: "churn" | "settle" | "brief" | "bound" | "restart", home: WorkerHome): HomeWorker {
  const child = spawn(process.execPath, [WORKER, task, JSON.stringify(home)], { stdio: ["ignore", "pipe", "inherit"] });
  const facts: WorkerFact[] = [];
  const waiting = new Set<() => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const fact = parseFact(line);
    if (fact) facts.push(fact);
    for (const look of waiting) look();
  });
  const exit = once(child, "close").then(([code]) => code as number | null);
  return {
    pid: child.pid ?? 0,
    facts,
    exit,
    says: (isSo) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const fact = facts.find(isSo);
          if (fact) resolve(fact);
          if (fact) waiting.delete(look);
        };
        waiting.add(look);
        look();
        void exit.then((code) => reject(new Error(`The worker ended (${code}) before it said so`)));
      }),
    async kill() {
      child.kill("SIGKILL");
      await exit;
    },
  };
}

/** A killed process may have been cut short in the middle of a line. */
function parseFact(line: string): WorkerFact | undefined {
  try {
    return JSON.parse(line) as WorkerFact;
  } catch {
    return undefined;
  }
}
