/** Rewrites arguments that have names which models learnt of other tools. */
export type Accept = (args: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** Takes each other name as the tool's own one, unless the tool's own is given too. */
export function otherNames(names: Readonly<Record<string, string>>): Accept {
  return (args) => {
    const renamed = Object.entries(args).map(([name, value]) => {
      const own = Object.hasOwn(names, name) ? names[name] : undefined;
      return [own !== undefined && !Object.hasOwn(args, own) ? own : name, value] as const;
    });
    return Object.fromEntries(renamed);
  };
}
