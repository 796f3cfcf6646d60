/** What it needs of a logger; pino's has this shape. */
export interface WarningLog {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** The oldest releases that are tried. Both SDKs have one numbering. */
const OLDEST = { major: 2, minor: 12 };
/** Whose releases were told; a client may name any. */
const TOLD_MAX = 32;
const CLIENT = /^(e2b-(?:js|python)-sdk)\/(\d{1,4})\.(\d{1,4})\.\d{1,6}/;

/** Tells in the log, once for each release, that a client is older than those that are tried here. */
export function createOldClients(log: WarningLog): (userAgent: string | undefined) => void {
  const told = new Set<string>();
  return (userAgent = "") => {
    const [client, name, major, minor] = CLIENT.exec(userAgent) ?? [];
    if (client === undefined || !isOld(Number(major), Number(minor)) || told.has(client) || told.size >= TOLD_MAX) return;
    told.add(client);
    log.warn({ client }, `${name} before ${OLDEST.major}.${OLDEST.minor} is not tried here: if a call fails, try a newer release of it`);
  };
}

function isOld(major: number, minor: number): boolean {
  return major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor);
}
