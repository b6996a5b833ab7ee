import { PushConfigurations, type WebhookCheck } from "../push/configurations.js";
import { ConfigVault } from "../push/secrets.js";
import type { Settings } from "./options.js";
import type { PushModules } from "./push-modules.js";

/** What makes and reads push notification configurations; undefined where no notifications are sent. */
export function pushConfigurationsOf(
  { push, limits }: Settings,
  modules: PushModules | undefined,
): PushConfigurations | undefined {
  if (push === undefined || modules === undefined) return undefined;
  let made: Promise<WebhookCheck> | undefined;
  const make = async (): Promise<WebhookCheck> => {
    const { TargetGuard } = await modules.guard();
    return new TargetGuard(push);
  };
  const guard = (): Promise<WebhookCheck> => {
    made ??= make();
    return made;
  };
  return new PushConfigurations({ vault: new ConfigVault(push.encryptionKeys ?? []), guard, limits });
}
