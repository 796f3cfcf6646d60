import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { expect, it } from "vitest";

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>>; readonly resolved?: string }>
  >;
}

async function loadLock(path: string): Promise<Lock> {
  return JSON.parse(await readFile(resolve(import.meta.dirname, "../..", path), "utf8")) as Lock;
}

// `npm ci` refuses a lock file that leaves out a package of another platform; `npm install` may drop such rows.
it.each(["package-lock.json", "test/hosts/package-lock.json"])("%s names every platform's optional packages", async (path) => {
  const { packages } = await loadLock(path);
  const missing = Object.entries(packages).flatMap(([at, row]) =>
    Object.keys(row.optionalDependencies ?? {})
      .map((name) => `node_modules/${name}`)
      .filter((name) => packages[name] === undefined && packages[`${at}/${name}`] === undefined),
  );
  expect(missing).toEqual([]);
});

const LOCKS = ["", "test/hosts/", "test/servers/", "test/vendors/"].map((folder) => `${folder}package-lock.json`);

it.each(LOCKS)("%s names no registry", async (path) => {
  const { packages } = await loadLock(path);
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
