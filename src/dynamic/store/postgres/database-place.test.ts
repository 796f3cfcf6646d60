import { expect, it } from "vitest";
import { titleOf } from "./database-place.ts";

it.each([
  ["postgres://anna:secret@db.example:5433/tools?sslmode=verify-full", "db.example:5433/tools"],
  ["postgresql://db.example/tools", "db.example/tools"],
  ["postgres://anna:s%40%2F%3F%23@%2Frun%2Fpostgresql/tools", "/run/postgresql/tools"],
  ["postgres://anna:secret@/tools?host=/run/postgresql", "/run/postgresql/tools"],
  ["postgresql:///tools?host=/run/postgresql", "/run/postgresql/tools"],
])("names %s without its user", (url, title) => {
  expect(titleOf({ url })).toBe(title);
});

it("names a place of parts without its user", () => {
  expect(titleOf({ host: "h", port: 1, name: "n", user: "anna", password: "secret" })).toBe("h:1/n");
  expect(titleOf({ host: "/run/postgresql", name: "n" })).toBe("/run/postgresql/n");
});

it.each([
  "mysql://anna:secret@h/n",
  "file:./dev.db",
  "anna:secret@h/n",
  "postgres://",
  "postgres://anna:sec/ret@h/n",
  "postgres://anna:12/secret@h/n",
  "postgres://anna:12?secret@h/n",
  "postgres://anna:12#secret@h/n",
  "postgres://anna:sec ret@h:x/n",
  "postgres://anna:secret%zz@h/n",
  "postgres://anna:secret@h/n%zz",
])("refuses %s, and repeats nothing of it", (url) => {
  const read = (): string => titleOf({ url });
  expect(read).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  expect(read).not.toThrow(expect.objectContaining({ cause: expect.anything() }));
  expect(read).not.toThrow(/secret|sec.?ret|anna/);
});
