import type { Profiler } from "node:inspector";
import { Session } from "node:inspector";

/** What ran, in V8's own block counts. */
export interface Coverage extends Disposable {
  /** What ran since the last call: a name for each block and order of magnitude of its count. */
  take(): readonly string[];
}

/** Watches the scripts of this thread whose addresses start so. Counts differ when their numbers of binary digits do. */
export function openCoverage(prefix: string): Coverage {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return {
    take: () => features(takeCounts(session), prefix),
    [Symbol.dispose]: () => session.disconnect(),
  };
}

/** The session calls back before `post` returns. */
function takeCounts(session: Session): readonly Profiler.ScriptCoverage[] {
  let taken: readonly Profiler.ScriptCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (error, { result }) => {
    if (error) throw error;
    taken = result;
  });
  return taken;
}

function features(scripts: readonly Profiler.ScriptCoverage[], prefix: string): readonly string[] {
  const ours = scripts.filter(({ url }) => url.startsWith(prefix));
  return ours.flatMap(({ scriptId, functions }) => functions.flatMap(({ ranges }) => ranges.map((range) => featureOf(scriptId, range))));
}

function featureOf(scriptId: string, { startOffset, endOffset, count }: Profiler.CoverageRange): string {
  return `${scriptId}-${startOffset}-${endOffset}:${32 - Math.clz32(count)}`;
}

/** Tells whether a list holds something that no earlier list held. */
export function createNovelty(): (list: readonly string[]) => boolean {
  const seen = new Set<string>();
  return (list) => {
    const before = seen.size;
    for (const feature of list) seen.add(feature);
    return seen.size > before;
  };
}
