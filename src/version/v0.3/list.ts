import { create } from "@bufbuild/protobuf";
import {
  A2AService,
  type ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsRequestSchema,
  type ListTaskPushNotificationConfigsResponse,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Serve } from "../version.js";

const list = A2AService.method.listTaskPushNotificationConfigs;

/** Lists the webhooks of a task as 0.3 does, where no size of a page means all of them: page after page is asked for. */
export function listedWhole(service: Serve): Serve {
  return async (asked) => {
    const answer = await service(asked);
    const { pageSize, pageToken, taskId } = asked.request as ListTaskPushNotificationConfigsRequest;
    if (asked.method !== list || pageSize !== 0 || pageToken !== "") return answer;
    const whole = answer as ListTaskPushNotificationConfigsResponse;
    while (whole.nextPageToken !== "") {
      // One more call of the service for the same call of a client: it is counted anew.
      asked.call.share = undefined;
      const request = create(ListTaskPushNotificationConfigsRequestSchema, { taskId, pageToken: whole.nextPageToken });
      const next = (await service({ ...asked, request })) as ListTaskPushNotificationConfigsResponse;
      whole.configs.push(...next.configs);
      whole.nextPageToken = next.nextPageToken;
    }
    return whole;
  };
}
