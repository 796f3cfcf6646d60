/** A Docker engine of this process alone, for comparisons. Its data, socket, mounts, network and processes are its own, and end with it. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { childrenOf } from "./harness.mjs";

const run = promisify(execFile);
const START_MS = 30_000;
/** Debian puts it where PATHs of people do not lead. */
const FOLDERS = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
const GROUPS = "/sys/fs/cgroup";
const GROUP = `bjd-${process.pid}`;
/** The image: what a shell needs to write files and to wait. */
const PROGRAMS = ["/bin/sh", "/bin/mkdir", "/bin/cat"];
const IMAGE = "base";

/** Undefined where there is no `dockerd`. Rejects with what that said last if it does not start. Closing it leaves nothing. */
export async function openDockerEngine() {
  const dockerd = FOLDERS.map((folder) => join(folder, "dockerd")).find((path) => existsSync(path));
  if (dockerd === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "bjd-"));
  const child = startEngine(dockerd, folder);
  const ended = new Promise((resolve) => child.once("error", resolve).once("close", resolve));
  const close = async () => {
    for (const pid of childrenOf([child.pid])) process.kill(pid, "SIGKILL"); // the first of its namespace: all others go before it has ended
    await ended;
    removeGroups();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilListens(child, ended);
    const socketPath = join(folder, "docker.sock");
    await ask({ socketPath, method: "POST", path: `/images/create?fromSrc=-&repo=${IMAGE}` }, await makeImage());
    return { ...commands(socketPath), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Without a bridge, and without rules of a firewall. The kernel ends all of it when this process ends. */
function startEngine(dockerd, folder) {
  const settings = join(folder, "daemon.json");
  writeFileSync(settings, "{}\n");
  const options = {
    "config-file": settings,
    "data-root": join(folder, "data"),
    "exec-root": join(folder, "exec"),
    pidfile: join(folder, "pid"),
    host: `unix://${join(folder, "docker.sock")}`,
    bridge: "none",
    iptables: "false",
    ip6tables: "false",
    "ip-forward": "false",
    "exec-opt": "native.cgroupdriver=cgroupfs",
    "cgroup-parent": `/${GROUP}`,
  };
  const apart = ["--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const argv = [...apart, dockerd, ...Object.entries(options).map(([name, value]) => `--${name}=${value}`)];
  return spawn("setpriv", argv, { stdio: ["ignore", "ignore", "pipe"], env: { PATH: FOLDERS.join(delimiter) } });
}

function untilListens(child, ended) {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = () => reject(new Error(said.trim().split("\n").at(-1)));
    const timer = setTimeout(fail, START_MS);
    child.stderr?.on("data", (chunk) => {
      said = `${said}${chunk}`.slice(-10_000);
      if (!said.includes("API listen on")) return;
      clearTimeout(timer);
      resolve();
    });
    void ended.then(fail);
  });
}

/** The host's own programs and their libraries, as a tar. */
async function makeImage() {
  const found = await Promise.all(PROGRAMS.map(async (path) => (await run("ldd", [path])).stdout.match(/\/\S+/g) ?? []));
  const files = [...new Set([...PROGRAMS, ...found.flat()])].map((path) => path.slice(1));
  const { stdout } = await run("tar", ["-C", "/", "-chf", "-", ...files], { encoding: "buffer", maxBuffer: 2 ** 28 });
  return stdout;
}

function commands(socketPath) {
  const post = async (path, body) => JSON.parse((await ask({ socketPath, method: "POST", path }, body)) || "null");
  const remove = (path) => ask({ socketPath, method: "DELETE", path });
  return {
    /** `docker run`: resolves with the container's id when the script has printed something. */
    async run(script, image = IMAGE) {
      const Cmd = ["/bin/sh", "-c", script];
      const { Id: id } = await post("/containers/create", { Image: image, Cmd, OpenStdin: true, HostConfig: { NetworkMode: "none" } });
      const output = await attach(socketPath, id);
      await post(`/containers/${id}/start`);
      await output.first;
      return id;
    },
    /** `docker commit`: the id of the image. */
    commit: async (container) => (await post(`/commit?container=${container}`)).Id,
    removeContainer: (id) => remove(`/containers/${id}?force=1`),
    removeImage: (id) => remove(`/images/${id}?force=1`),
  };
}

function ask(options, body) {
  const isTar = Buffer.isBuffer(body);
  const headers = body === undefined ? {} : { "content-type": isTar ? "application/x-tar" : "application/json" };
  return new Promise((resolve, reject) => {
    const asked = request({ ...options, headers }, (response) => void answerOf(options, response).then(resolve, reject));
    asked.once("error", reject);
    asked.end(isTar ? body : body && JSON.stringify(body));
  });
}

async function answerOf({ method, path }, response) {
  const text = Buffer.concat(await response.toArray()).toString();
  if (response.statusCode < 300) return text;
  throw new Error(`${method} ${path}: ${response.statusCode} ${text.trim()}`);
}

/** What a container that is not started yet will print. */
function attach(socketPath, id) {
  const headers = { connection: "Upgrade", upgrade: "tcp" };
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method: "POST", path: `/containers/${id}/attach?stream=1&stdout=1`, headers });
    asked.once("error", reject);
    asked.once("response", ({ statusCode }) => reject(new Error(`Docker attaches nobody: ${statusCode}`)));
    asked.once("upgrade", (_response, socket) => {
      const first = new Promise((heard, failed) => {
        socket
          .once("data", heard)
          .once("end", () => failed(new Error("The container ended and printed nothing")))
          .once("error", failed);
      });
      resolve({ first: first.finally(() => socket.destroy()) });
    });
    asked.end();
  });
}

/** Docker leaves the empty group that was named to it. */
function removeGroups() {
  const folders = ["", ...readdirSync(GROUPS)].map((name) => join(GROUPS, name, GROUP));
  for (const folder of folders.filter((path) => existsSync(path))) rmdirSync(folder);
}
