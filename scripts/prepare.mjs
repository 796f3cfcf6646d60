/** Sets up a checkout before `npm start` and `npm test`. Plain Node: it runs before any package is installed. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { BUILD_PACKAGES, TEST_PACKAGES } from "./debian-packages.mjs";
import { Problem, ROOT, has, main, run, say } from "./lib.mjs";

const isRoot = process.getuid?.() === 0;

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new Problem(
    `Belljar needs Node 20.19 or newer; this is ${process.version}. https://nodejs.org/en/download names the ways to get one.`,
  );
}

/** A folder that another user made cannot be brought up to date: say whose it is, and the two ways out. */
function checkOwner(name) {
  const stat = statSync(join(ROOT, name), { throwIfNoEntry: false });
  if (!stat || isRoot || stat.uid === process.getuid?.()) return;
  throw new Problem(
    `${name}/ belongs to another user (uid ${stat.uid}) and must be brought up to date. Run this as that user, or remove the folder: sudo rm -r ${join(ROOT, name)}`,
  );
}

function installNpmPackages() {
  const installed = statSync(join(ROOT, "node_modules/.package-lock.json"), { throwIfNoEntry: false });
  const wanted = statSync(join(ROOT, "package-lock.json"));
  if (installed && (installed.mtimeMs >= wanted.mtimeMs || hasSamePackages())) return;
  checkOwner("node_modules");
  say("Installing the npm packages (npm ci) ...");
  run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], { what: "npm ci" });
}

/** Checking out writes the lock file anew without changing it. */
function hasSamePackages() {
  const versions = (path) => {
    const { packages = {} } = JSON.parse(readFileSync(join(ROOT, path), "utf8"));
    return new Map(Object.entries(packages).map(([name, { version, optional }]) => [name, { version, optional }]));
  };
  const installed = versions("node_modules/.package-lock.json");
  for (const [name, { version, optional }] of versions("package-lock.json")) {
    if (name !== "" && !optional && installed.get(name)?.version !== version) return false;
  }
  return true;
}

const isThere = ({ shows }) => (shows.startsWith("/") ? existsSync(shows) : has(shows));

/** Installs as root on Debian; otherwise names the one command. What only tests need is no reason to stop. */
function installSystemPackages(list) {
  const missing = list.filter((one) => !isThere(one));
  if (missing.length === 0) return;
  const install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", ...new Set(missing.map((one) => one.package))];
  if (isRoot && has("apt-get")) {
    say(`Installing Debian packages: ${missing.map((one) => one.package).join(", ")} ...`);
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    run(["apt-get", "update", "-q"], { env });
    run(install, { env });
    return;
  }
  say("Not found on this machine:");
  for (const one of missing) say(`  ${one.package.padEnd(14)} ${one.why}`);
  say(`On Debian or Ubuntu this one command brings them: sudo ${install.join(" ")}\n`);
}

/** Another user's finished build is used as it is: the build step itself finds nothing to do. */
function build() {
  if (!existsSync(join(ROOT, "dist/.stamps.json"))) checkOwner("dist");
  run([process.execPath, "scripts/build.mjs"], { what: "The build" });
}

await main(async () => {
  checkNode();
  installSystemPackages(process.argv[2] === "test" ? TEST_PACKAGES : BUILD_PACKAGES);
  installNpmPackages();
  build();
});
