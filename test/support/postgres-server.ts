import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { chown, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Client } from "pg";

const run = promisify(execFile);

/** Where Debian's package has the programs, in a folder for each version. */
const DEBIAN = "/usr/lib/postgresql";
const PROGRAMS = findPrograms();

/** Why none can be started here, as the end of a title. Empty: one can. */
export const POSTGRES_MISSING = PROGRAMS === undefined ? " (the package postgresql is not installed: npm run setup)" : "";

export const PASSWORD = "pa/ss@word#?%";

/** Without what the disk would add to the time of a test. A kill of the server loses nothing all the same. */
const SETTINGS = { fsync: "off", max_connections: "60", log_min_messages: "log" };

export interface TestDatabase {
  readonly url: string;
  readonly name: string;
  /** Runs statements as the owner of the database. */
  readonly query: (text: string, values?: readonly unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export interface PostgresServer extends AsyncDisposable {
  /** The folder of its socket. */
  readonly folder: string;
  /** A new database. */
  database(): Promise<TestDatabase>;
  /** Resolves once no process of it is left. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A PostgreSQL of the test's own, on a socket in a folder of its own. PostgreSQL refuses root: then it is the user's of Debian's package. */
export async function startPostgres({ tls = false } = {}): Promise<PostgresServer> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belljar-pg-")));
  const user = process.getuid?.() === 0 ? await idsOf("postgres") : undefined;
  if (user) await chown(folder, user.uid, user.gid);
  const data = join(folder, "data");
  await writeFile(join(folder, "password"), PASSWORD);
  await run(
    program("initdb"),
    ["-D", data, "-U", "anna", "-A", "scram-sha-256", "--pwfile", join(folder, "password"), "-E", "UTF8", "--no-sync"],
    {
      ...user,
      cwd: folder,
      env: { LC_ALL: "C" },
    },
  );
  const listening = tls ? await makeTls(folder, user) : { listen_addresses: "" };
  let server: { readonly child: ChildProcess; readonly end: Promise<unknown> } | undefined;
  let made = 0;
  const host = "port" in listening ? `localhost:${listening.port}` : encodeURIComponent(folder);
  const url = (name: string): string => {
    const address = `postgres://anna:${encodeURIComponent(PASSWORD)}@${host}/${name}`;
    return tls ? `${address}?sslmode=verify-full&sslrootcert=${folder}/tls.crt` : address;
  };
  const start = async (): Promise<void> => {
    const settings = Object.entries({ ...SETTINGS, ...listening, unix_socket_directories: folder }).flatMap(([key, value]) => [
      "-c",
      `${key}=${value}`,
    ]);
    const child = spawn(program("postgres"), ["-D", data, ...settings], {
      ...user,
      cwd: folder,
      env: { LC_ALL: "C" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    // The processes of connections have this pipe too: it closes with the last of them.
    server = { child, end: once(child, "close") };
    await ready(child);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    server?.child.kill(signal);
    await server?.end;
    server = undefined;
  };
  await start();
  return {
    folder,
    start,
    kill: () => end("SIGKILL"),
    async database() {
      const name = `test_${++made}`;
      await query(url("postgres"), `CREATE DATABASE ${name}`);
      return { url: url(name), name, query: (text, values) => query(url(name), text, values) };
    },
    async [Symbol.asyncDispose]() {
      await end("SIGQUIT");
      await rm(folder, { recursive: true });
    },
  };
}

async function query(url: string, text: string, values: readonly unknown[] = []): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as readonly Readonly<Record<string, unknown>>[];
  } finally {
    await client.end();
  }
}

function findPrograms(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  const folders = readdirSync(DEBIAN).map((version) => join(DEBIAN, version, "bin"));
  return folders.findLast((folder) => existsSync(join(folder, "initdb")));
}

function program(name: string): string {
  return join(PROGRAMS ?? "", name);
}

async function idsOf(user: string): Promise<{ readonly uid: number; readonly gid: number }> {
  const id = async (flag: string): Promise<number> => Number((await run("id", [flag, user])).stdout);
  return { uid: await id("-u"), gid: await id("-g") };
}

/** What it listens with on a free port of this machine, with a certificate that it has signed itself. */
async function makeTls(folder: string, user: { readonly uid: number; readonly gid: number } | undefined) {
  const [key, certificate] = [join(folder, "tls.key"), join(folder, "tls.crt")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  await run("openssl", [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    key,
    "-out",
    certificate,
    ...names,
  ]);
  if (user) await chown(key, user.uid, user.gid);
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return { listen_addresses: "localhost", port: String(port), ssl: "on", ssl_key_file: key, ssl_cert_file: certificate };
}

/** Rejects with the last of what it said if it ends before. */
async function ready(child: ChildProcess): Promise<void> {
  const seen: string[] = [];
  if (!child.stderr) throw new Error("PostgreSQL has no stderr");
  const lines = createInterface(child.stderr);
  await new Promise<void>((resolve, reject) => {
    lines.on("line", (line) => {
      seen.push(line);
      if (line.includes("ready to accept connections")) resolve();
    });
    child.once("close", () => reject(new Error(`PostgreSQL did not start:\n${seen.slice(-10).join("\n")}`)));
  });
}
