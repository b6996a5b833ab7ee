import io.a2a.A2A;
import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.transport.grpc.GrpcTransport;
import io.a2a.client.transport.grpc.GrpcTransportConfig;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfig;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfig;
import io.a2a.spec.AgentCard;
import io.a2a.spec.Artifact;
import io.a2a.spec.DeleteTaskPushNotificationConfigParams;
import io.a2a.spec.GetTaskPushNotificationConfigParams;
import io.a2a.spec.ListTaskPushNotificationConfigParams;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.PushNotificationConfig;
import io.a2a.spec.Task;
import io.a2a.spec.TaskArtifactUpdateEvent;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskPushNotificationConfig;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatusUpdateEvent;
import io.a2a.spec.TextPart;
import io.a2a.util.Utils;
import io.grpc.ManagedChannelBuilder;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * Calls a server with the published Java library for A2A 0.3: {@code Caller URL BINDING HOOK}. Finds the server by the
 * URL of its card. Prints a JSON object with the result of each step by name.
 */
public final class Caller {
  private final AgentCard card;
  private final String binding;
  private final String hook;
  private final Map<String, Object> seen = new LinkedHashMap<>();

  private Caller(AgentCard card, String binding, String hook) {
    this.card = card;
    this.binding = binding;
    this.hook = hook;
  }

  public static void main(String[] args) throws Exception {
    // Without an explicit path, the library reads the card of the whole server and ignores the path of the URL.
    String base = args[0].endsWith("/") ? args[0] : args[0] + "/";
    AgentCard card = A2A.getAgentCard(base, ".well-known/agent-card.json", Map.of());
    Caller caller = new Caller(card, args[1], args[2]);
    caller.run();
    System.out.println(Utils.OBJECT_MAPPER.writeValueAsString(caller.seen));
    System.exit(0);
  }

  private void run() throws Exception {
    seen.put("card", card);
    Client client = client(new ClientConfig.Builder().setStreaming(false));
    Field transport = Client.class.getDeclaredField("clientTransport");
    transport.setAccessible(true);
    seen.put("transport", transport.get(client).getClass().getSimpleName());
    Client atOnce = client(new ClientConfig.Builder().setStreaming(false).setPolling(true));
    Client streaming = client(new ClientConfig.Builder().setStreaming(true));

    Task sent = (Task) sent(client, A2A.toUserMessage("hello"));
    seen.put("sent", shown(sent));
    seen.put("reply", shown(sent(client, A2A.toUserMessage("direct: hi"))));
    Message paper = A2A.toUserMessage("write a long paper describing the attached pictures");
    seen.put("streamed", events((each, failed) -> streaming.sendMessage(paper, each, failed), () -> {}));
    seen.put("got", shown(client.getTask(new TaskQueryParams(sent.getId()))));
    Task asked = (Task) sent(client, A2A.toUserMessage("buy me a new phone"));
    seen.put("asked", shown(asked));
    Message answer = A2A.createUserTextMessage("Android", asked.getContextId(), asked.getId());
    seen.put("answered", shown(sent(client, answer)));

    Task held = (Task) sent(atOnce, A2A.toUserMessage("hold: on"));
    seen.put("held", shown(held));
    seen.put("pushSet", attempt(() -> client.setTaskPushNotificationConfiguration(
        new TaskPushNotificationConfig(held.getId(), config("/set", "a-token"))).pushNotificationConfig()));
    seen.put("pushGot", attempt(() -> client.getTaskPushNotificationConfiguration(
        new GetTaskPushNotificationConfigParams(held.getId(), "p1")).pushNotificationConfig()));
    seen.put("pushListed", attempt(() -> pushUrls(client, held)));
    seen.put("watched", events(
        (each, failed) -> streaming.resubscribe(new TaskIdParams(held.getId()), each, failed),
        () -> seen.put("canceled", shown(client.cancelTask(new TaskIdParams(held.getId()))))));
    seen.put("pushDeleted", attempt(() -> {
      client.deleteTaskPushNotificationConfigurations(new DeleteTaskPushNotificationConfigParams(held.getId(), "p1"));
      return pushUrls(client, held).size();
    }));
    Client pushing = client(new ClientConfig.Builder()
        .setStreaming(false)
        .setPolling(true)
        .setPushNotificationConfig(new PushNotificationConfig.Builder().url(hook + "/inline").token("b-token").build()));
    seen.put("report", shown(sent(pushing, A2A.toUserMessage("Generate the Q1 sales report."))));

    seen.put("unknown", attempt(() -> shown(client.getTask(new TaskQueryParams("nobody")))));
    seen.put("tooLate", attempt(() -> shown(client.cancelTask(new TaskIdParams(sent.getId())))));
    Message more = A2A.createUserTextMessage("more", sent.getContextId(), sent.getId());
    seen.put("over", attempt(() -> shown(sent(client, more))));
    seen.put("extended", attempt(() -> client.getAgentCard().name()));
  }

  private Client client(ClientConfig.Builder config) throws Exception {
    var builder = Client.builder(card).clientConfig(config.setUseClientPreference(true).build());
    return switch (binding) {
      case "JSONRPC" -> builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfig()).build();
      case "HTTP+JSON" -> builder.withTransport(RestTransport.class, new RestTransportConfig()).build();
      default -> builder.withTransport(GrpcTransport.class, new GrpcTransportConfig(
          url -> ManagedChannelBuilder.forTarget(url).usePlaintext().build())).build();
    };
  }

  private PushNotificationConfig config(String path, String token) {
    return new PushNotificationConfig.Builder().id("p1").url(hook + path).token(token).build();
  }

  private static List<String> pushUrls(Client client, Task task) throws Exception {
    return client.listTaskPushNotificationConfigurations(new ListTaskPushNotificationConfigParams(task.getId())).stream()
        .map(each -> each.pushNotificationConfig().url())
        .toList();
  }

  private static Object attempt(Callable<Object> step) {
    try {
      return step.call();
    } catch (Throwable error) {
      Throwable cause = error;
      while (cause.getCause() != null) cause = cause.getCause();
      return Map.of("error", cause.getClass().getSimpleName(), "message", String.valueOf(cause.getMessage()));
    }
  }

  /** Returns the result of a send: a task or a message. */
  private static Object sent(Client client, Message message) throws Exception {
    BlockingQueue<Object> results = new LinkedBlockingQueue<>();
    client.sendMessage(message, List.of((event, of) -> results.add(event)), results::add, null);
    Object result = results.poll(30, TimeUnit.SECONDS);
    if (result instanceof MessageEvent answer) return answer.getMessage();
    if (result instanceof TaskEvent answer) return answer.getTask();
    throw new IllegalStateException(String.valueOf(result));
  }

  private interface Begin {
    void begin(List<BiConsumer<ClientEvent, AgentCard>> each, Consumer<Throwable> failed) throws Exception;
  }

  private interface Act {
    void run() throws Exception;
  }

  /** Returns the events of a stream up to the final one. Runs an action at the first event. */
  private static List<Object> events(Begin stream, Act atFirst) throws Exception {
    BlockingQueue<Object> queue = new LinkedBlockingQueue<>();
    stream.begin(List.of((event, of) -> queue.add(event)), queue::add);
    List<Object> events = new ArrayList<>();
    for (;;) {
      Object next = queue.poll(20, TimeUnit.SECONDS);
      if (!(next instanceof ClientEvent event)) {
        events.add(Map.of("kind", "failure", "text", String.valueOf(next)));
        return events;
      }
      events.add(shownEvent(event));
      if (events.size() == 1) atFirst.run();
      if (event instanceof TaskUpdateEvent update
          && update.getUpdateEvent() instanceof TaskStatusUpdateEvent status
          && status.isFinal()) return events;
    }
  }

  private static Object shownEvent(ClientEvent event) {
    if (event instanceof MessageEvent answer) return Map.of("kind", "message", "texts", texts(answer.getMessage().getParts()));
    if (event instanceof TaskEvent answer) return Map.of("kind", "task", "state", state(answer.getTask().getStatus().state()));
    if (((TaskUpdateEvent) event).getUpdateEvent() instanceof TaskArtifactUpdateEvent update) {
      return Map.of("kind", "artifact-update", "texts", texts(update.getArtifact().parts()));
    }
    TaskStatusUpdateEvent update = (TaskStatusUpdateEvent) ((TaskUpdateEvent) event).getUpdateEvent();
    return Map.of("kind", "status-update", "state", state(update.getStatus().state()), "final", update.isFinal());
  }

  private static Object shown(Object result) {
    if (result instanceof Message message) return Map.of("kind", "message", "texts", texts(message.getParts()));
    Task task = (Task) result;
    List<String> texts = new ArrayList<>();
    if (task.getArtifacts() != null) for (Artifact each : task.getArtifacts()) texts.addAll(texts(each.parts()));
    return Map.of("kind", "task", "id", task.getId(), "state", state(task.getStatus().state()), "texts", texts);
  }

  private static String state(TaskState state) {
    return state.asString();
  }

  private static List<String> texts(List<Part<?>> parts) {
    List<String> texts = new ArrayList<>();
    for (Part<?> part : parts) texts.add(part instanceof TextPart text ? text.getText() : "");
    return texts;
  }
}
