export interface Request {
  readonly run: string;
  readonly code: string;
  readonly language: "javascript" | "typescript";
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
}

/** What is to hold for all later runs. */
export interface Preparation {
  readonly prepare: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Undefined for a line that is none. Modules are imported when a run names them, so a list of them changes nothing. */
export function parsePreparation(line: string): Preparation | undefined {
  const { prepare, env = {} } = parseObject(line) ?? {};
  return typeof prepare === "string" && /^[0-9a-f]{32}$/.test(prepare) && isEnv(env) ? { prepare, env } : undefined;
}

/** A line of the host; what is no request is ignored, as half a line of a host that died. */
export function parseRequest(line: string): Request | undefined {
  const fields = parseObject(line);
  if (!fields) return undefined;
  const { run, code, language = "javascript", env = {}, cwd } = fields;
  if (typeof run !== "string" || !/^[0-9a-f]{32}$/.test(run) || typeof code !== "string" || !isEnv(env)) return undefined;
  if ((language !== "javascript" && language !== "typescript") || (cwd !== undefined && typeof cwd !== "string")) return undefined;
  return { run, code, language, env, cwd };
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isEnv(value: unknown): value is Readonly<Record<string, string>> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every((item) => typeof item === "string")
  );
}

/** Sets the variables, and gives back what restores them. */
export function setEnv(env: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, env);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
