import type { ChangeFacts } from "../../actions/change.ts";
import type { FillFormArgs } from "../../actions/fill-form.ts";
import { defineHandler } from "../handler.ts";
import type { Tab } from "../tab.ts";
import { act, type How, reasoned } from "./act.ts";
import { DriverError } from "../driver-error.ts";
import { elementOf, needTarget } from "./target.ts";

export const fillForm = defineHandler<FillFormArgs, ChangeFacts>({
  name: "fill_form",
  run: (tab, { fields, submit = false }, call) =>
    act(tab, call, async (how) => {
      for (const [index, field] of fields.entries()) await fillNumbered(tab, field, { index, total: fields.length, how });
      how.signal.throwIfAborted();
      if (submit) await tab.page.keyboard.press("Enter");
    }),
});

type Field = FillFormArgs["fields"][number];

interface Place {
  readonly index: number;
  readonly total: number;
  readonly how: How;
}

/** Says which field it was, and so how far it came: the fields before it are filled. */
async function fillNumbered(tab: Tab, field: Field, place: Place): Promise<void> {
  try {
    await reasoned(() => fill(tab, field, place.how), place.how.signal);
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    throw new DriverError(error.code, `Field ${place.index + 1} of ${place.total}, with those before it filled: ${error.message}`);
  }
}

async function fill(tab: Tab, field: Field, how: How): Promise<void> {
  const { value } = field;
  how.signal.throwIfAborted();
  const element = await elementOf(tab, await needTarget(tab, field), how);
  if (typeof value === "boolean") return element.setChecked(value, how);
  const isList = await element.evaluate((node: unknown) => (node as { readonly nodeName: string }).nodeName === "SELECT");
  if (isList || typeof value !== "string") return void (await element.selectOption(value, how));
  await element.fill(value, how);
  await element.focus();
}
