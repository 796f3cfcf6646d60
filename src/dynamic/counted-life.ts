import type { Quota } from "../catalog/policy.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { UnitLife } from "./unit-life.ts";

/**
 * The same, where what runs code counts as a call of its caller: for ways in that do not lead through the catalog's door, which counts by
 * itself. It rejects with `QUOTA_EXCEEDED` before anything runs.
 */
export function countedLife(life: UnitLife, quota: Quota): UnitLife {
  const counted = async <T>(principal: Principal, work: () => Promise<T>): Promise<T> => {
    using _place = await quota.enter(principal);
    return await work();
  };
  return {
    list: (principal, options) => life.list(principal, options),
    get: (principal, name, number) => life.get(principal, name, number),
    add: (principal, given, signal, options) => counted(principal, () => life.add(principal, given, signal, options)),
    update: (principal, given, signal, options) => counted(principal, () => life.update(principal, given, signal, options)),
    test: (principal, name, signal, options) => counted(principal, () => life.test(principal, name, signal, options)),
    publish: (principal, name, signal, number) => counted(principal, () => life.publish(principal, name, signal, number)),
    rollback: (principal, name, number) => life.rollback(principal, name, number),
    setDisabled: (principal, name, isDisabled) => life.setDisabled(principal, name, isDisabled),
    share: (principal, name, isShared) => life.share(principal, name, isShared),
    remove: (principal, name) => life.remove(principal, name),
  };
}
