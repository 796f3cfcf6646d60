/** Tells each problem once. Damage is found anew by every look. */
export function reportOnce(report: (problem: string) => void): (problem: string) => void {
  const told = new Set<string>();
  return (problem) => {
    if (told.has(problem)) return;
    told.add(problem);
    report(problem);
  };
}
