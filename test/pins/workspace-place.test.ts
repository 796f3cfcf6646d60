import { posix } from "node:path";
import { expect, it } from "vitest";
import { buildSkeleton } from "../../src/runtime/namespace/template/skeleton.ts";
import { INSIDE, LOCAL } from "../../src/sandbox/sandbox.ts";
import { placeOfWorkspace } from "../../src/sandbox/workspace/workspace-place.ts";

/** What may lie between the root and a workspace. */
const SHARED = ["/home", "/media", "/mnt", "/opt", "/srv", "/var", "/var/lib"];

it("no workspace lies at, above or below what the template has", async () => {
  const made = new Map<string, number | "other">();
  const note = async (path: string, kind: number | "other"): Promise<void> => void made.set(posix.join("/", path), kind);
  await buildSkeleton(
    {
      path: "",
      folder: (path, { mode = 0o755 } = {}) => note(path, mode),
      file: (path) => note(path, "other"),
      copy: (path) => note(path, "other"),
      link: (path) => note(path, "other"),
      hardLink: (path) => note(path, "other"),
      adopt: async () => {},
    },
    "/",
  );
  expect(made.size).toBeGreaterThan(50);
  const place = (path: string): string => placeOfWorkspace(LOCAL, { path, mode: "copy" });
  for (const [path, kind] of made) {
    expect({ path, place: place(path) }).toEqual({ path, place: INSIDE.workspace });
    const below = posix.join(path, "project");
    const isShared = SHARED.includes(path);
    expect({ path, place: place(below) }).toEqual({ path, place: isShared ? below : INSIDE.workspace });
    // Everybody inside may go through.
    expect({ path, kind: isShared ? kind : 0o755 }).toEqual({ path, kind: 0o755 });
  }
});
