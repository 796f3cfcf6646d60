import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";
import { databaseOf } from "./database.ts";

const PARTS = { DB_HOST: "db.example", DB_PORT: "5433", DB_NAME: "mcpbox", DB_USER: "anna", DB_PASSWORD: "p@ss" };

function placeFrom(env: Readonly<Record<string, string>>) {
  return databaseOf(loadConfig({ env: { BELLJAR_HOME: "/nonexistent", ...env } }).tools);
}

describe("the database of users' tools", () => {
  it("is there only if it is named", () => {
    expect(placeFrom({})).toBeUndefined();
    // As links of containers and services of Kubernetes set them.
    expect(placeFrom({ DB_PORT: "tcp://10.0.0.1:5432", DB_NAME: "x" })).toBeUndefined();
  });

  it("is named by its address, or by MCP Box's variables", () => {
    expect(placeFrom(PARTS)).toEqual({ host: "db.example", port: 5433, name: "mcpbox", user: "anna", password: "p@ss" });
    expect(placeFrom({ DB_HOST: "/run/postgresql", DB_NAME: "x" })).toEqual({ host: "/run/postgresql", name: "x" });
    expect(placeFrom({ ...PARTS, DATABASE_URL: "postgres://h/n" })).toEqual({ url: "postgres://h/n" });
    expect(placeFrom({ DATABASE_URL: "postgres://h/n", BELLJAR_TOOLS_DATABASE_URL: "postgres://h/mine" })).toEqual({
      url: "postgres://h/mine",
    });
  });

  it("is left alone where tools are kept in files", () => {
    for (const yes of ["true", "1"]) expect(placeFrom({ ...PARTS, DATABASE_URL: "mysql://x", STORE_IN_FILE: yes })).toBeUndefined();
    expect(placeFrom({ ...PARTS, STORE_IN_FILE: "false" })).toMatchObject({ name: "mcpbox" });
  });

  it("is refused if a part is missing or wrong, without its password", () => {
    for (const [wrong, message] of [
      [{ DB_NAME: "" }, /DB_NAME is not/],
      [{ DB_PORT: "tcp://10.0.0.1:5432" }, /DB_PORT is no port/],
    ] as const)
      expect(() => placeFrom({ ...PARTS, ...wrong })).toThrow(
        expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }),
      );
    expect(() => placeFrom({ ...PARTS, DB_NAME: "" })).not.toThrow(/p@ss/);
  });
});
