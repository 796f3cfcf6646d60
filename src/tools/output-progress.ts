import type { Progress } from "../catalog/tool.ts";

const INTERVAL_MS = 1_000;
/** A silent command is reported too, so that a client that waits for signs of life keeps waiting. */
const SILENCE_MS = 10_000;
const LINE_MAX = 200;
const KEPT_CHARACTERS = 4_096;

/** Tells a caller how a command goes on: its seconds and its last line of output, at most once a second. Owns one timer until disposed. */
export interface OutputProgress extends Disposable {
  push(chunk: Buffer): void;
}

export function openOutputProgress(report: (progress: Progress) => void): OutputProgress {
  const startedAt = performance.now();
  let reportedAt = startedAt;
  let recent = "";
  let isFresh = false;
  let timer = startTimer(SILENCE_MS);

  function startTimer(delayMs: number): NodeJS.Timeout {
    return setTimeout(tell, delayMs).unref();
  }
  function tell(): void {
    const elapsedMs = Math.round(performance.now() - startedAt);
    const seconds = Math.round(elapsedMs / 1_000);
    const message = isFresh ? lastLine(recent) || `running for ${seconds} s` : `no output, running for ${seconds} s`;
    report({ progress: elapsedMs / 1_000, message });
    reportedAt = performance.now();
    isFresh = false;
    timer = startTimer(SILENCE_MS);
  }
  return {
    push(chunk) {
      recent = (recent + chunk.subarray(-KEPT_CHARACTERS).toString("utf8")).slice(-KEPT_CHARACTERS);
      if (isFresh) return;
      isFresh = true;
      clearTimeout(timer);
      timer = startTimer(Math.max(0, reportedAt + INTERVAL_MS - performance.now()));
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** The last line that is not blank, on one line and bounded. */
function lastLine(text: string): string {
  const line = text.split(/[\r\n]+/).findLast((candidate) => candidate.trim() !== "") ?? "";
  return line.length > LINE_MAX ? `...${line.slice(-LINE_MAX)}` : line;
}
