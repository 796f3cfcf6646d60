/** The environment of this process, for a library that is not given another. */
export function currentEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
