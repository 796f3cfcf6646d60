/** An ordinary user for the tests, and a checkout that this user can read. */
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Problem, ROOT, cleanEnv, run, say } from "./lib.mjs";

const NAME = "belljar-test";
const MUST_READ = ["package.json", "dist/cli/main.js", "native/build", "node_modules/vitest/package.json", "test/contract"];

/** Makes the user when it is missing; `close` removes the temporary folders, not the user. */
export async function openTestUser() {
  const { uid, gid } = findUser() ?? createUser();
  const home = mkdtempSync("/tmp/belljar-user-");
  chownSync(home, uid, gid);
  const env = cleanEnv({ HOME: home, USER: NAME, LOGNAME: NAME, BELLJAR_HOME: join(home, ".belljar"), TMPDIR: "/tmp" });
  for (const name of ["XDG_RUNTIME_DIR", "SUDO_USER", "SUDO_UID", "SUDO_GID"]) delete env[name];
  const checkout = canRead(uid, gid) ? ROOT : copyCheckout(home, uid, gid);
  return {
    home,
    checkout,
    options: { uid, gid, env },
    close: async () => rmSync(home, { recursive: true, force: true }),
  };
}

function findUser() {
  const { stdout } = spawnSync("getent", ["passwd", NAME], { encoding: "utf8" });
  const [, , uid, gid] = stdout.trim().split(":");
  return uid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

function createUser() {
  say(`Making the user ${NAME}, as whom the suites run a second time ...`);
  const hasGroup = spawnSync("getent", ["group", NAME]).status === 0;
  run(["useradd", "--create-home", "--shell", "/bin/bash", ...(hasGroup ? ["--gid", NAME] : []), NAME]);
  const user = findUser();
  if (!user) throw new Problem(`The user ${NAME} could not be made: check useradd`);
  return user;
}

function canRead(uid, gid) {
  return MUST_READ.every((name) => spawnSync("test", ["-r", join(ROOT, name)], { uid, gid }).status === 0);
}

/** A checkout in a folder that is closed to others, as /root is. */
function copyCheckout(home, uid, gid) {
  const copy = join(home, "checkout");
  say(`The checkout is closed to ${NAME}: copying it to ${copy} ...`);
  run(["cp", "-a", "--reflink=auto", "--", ROOT, copy]);
  run(["chown", "-R", "--", `${uid}:${gid}`, copy]);
  return copy;
}
