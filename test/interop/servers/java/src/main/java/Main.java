import com.google.protobuf.MessageOrBuilder;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.a2a.common.A2AHeaders;
import io.a2a.grpc.utils.JSONRPCUtils;
import io.a2a.grpc.utils.ProtoUtils.ToProto;
import io.a2a.jsonrpc.common.json.IdJsonMappingException;
import io.a2a.jsonrpc.common.json.InvalidParamsJsonMappingException;
import io.a2a.jsonrpc.common.json.JsonProcessingException;
import io.a2a.jsonrpc.common.json.MethodNotFoundJsonMappingException;
import io.a2a.jsonrpc.common.wrappers.A2AErrorResponse;
import io.a2a.jsonrpc.common.wrappers.A2ARequest;
import io.a2a.jsonrpc.common.wrappers.A2AResponse;
import io.a2a.jsonrpc.common.wrappers.CancelTaskRequest;
import io.a2a.jsonrpc.common.wrappers.CancelTaskResponse;
import io.a2a.jsonrpc.common.wrappers.CreateTaskPushNotificationConfigRequest;
import io.a2a.jsonrpc.common.wrappers.GetTaskRequest;
import io.a2a.jsonrpc.common.wrappers.GetTaskResponse;
import io.a2a.jsonrpc.common.wrappers.ListTasksRequest;
import io.a2a.jsonrpc.common.wrappers.ListTasksResponse;
import io.a2a.jsonrpc.common.wrappers.SendMessageRequest;
import io.a2a.jsonrpc.common.wrappers.SendMessageResponse;
import io.a2a.jsonrpc.common.wrappers.SendStreamingMessageRequest;
import io.a2a.jsonrpc.common.wrappers.SendStreamingMessageResponse;
import io.a2a.jsonrpc.common.wrappers.SubscribeToTaskRequest;
import io.a2a.server.PublicAgentCard;
import io.a2a.server.ServerCallContext;
import io.a2a.server.TransportMetadata;
import io.a2a.server.auth.UnauthenticatedUser;
import io.a2a.server.util.sse.SseFormatter;
import io.a2a.spec.A2AError;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.AgentSkill;
import io.a2a.spec.InvalidParamsError;
import io.a2a.spec.InvalidRequestError;
import io.a2a.spec.JSONParseError;
import io.a2a.spec.MethodNotFoundError;
import io.a2a.spec.UnsupportedOperationError;
import io.a2a.transport.jsonrpc.handler.JSONRPCHandler;
import io.a2a.transport.rest.handler.RestHandler;
import io.a2a.transport.rest.handler.RestHandler.HTTPRestResponse;
import io.a2a.transport.rest.handler.RestHandler.HTTPRestStreamingResponse;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.inject.Produces;
import jakarta.enterprise.inject.se.SeContainerInitializer;
import jakarta.inject.Inject;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Serves an agent with the published Java library for A2A 1.0. The library's Quarkus servers are not published in this
 * version, so the JDK's HTTP server calls its handlers of JSON-RPC and HTTP+JSON, with the same paths. Prints its URL
 * when it is ready.
 */
@Dependent
public class Main {
  private static String url;

  @Inject JSONRPCHandler rpc;
  @Inject RestHandler rest;

  public static void main(String[] args) throws Exception {
    // The library logs each refused request with a stack trace.
    Logger.getLogger("").setLevel(Level.OFF);
    HttpServer http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    url = "http://127.0.0.1:" + http.getAddress().getPort();
    Main server = SeContainerInitializer.newInstance().initialize().select(Main.class).get();
    http.setExecutor(Executors.newCachedThreadPool());
    http.createContext("/", server::answer);
    http.start();
    System.out.println(url);
  }

  /** Declares the binding JSON-RPC to the library. */
  public static final class Rpc implements TransportMetadata {
    @Override
    public String getTransportProtocol() {
      return "JSONRPC";
    }
  }

  /** Declares the binding HTTP+JSON to the library. */
  public static final class Rest implements TransportMetadata {
    @Override
    public String getTransportProtocol() {
      return "HTTP+JSON";
    }
  }

  @Produces
  @PublicAgentCard
  static AgentCard card() {
    return AgentCard.builder()
        .name("Foreign")
        .description("Does what the first word says.")
        .version("1.0.0")
        .supportedInterfaces(List.of(new AgentInterface("JSONRPC", url + "/rpc"), new AgentInterface("HTTP+JSON", url)))
        .capabilities(AgentCapabilities.builder().streaming(true).pushNotifications(false).build())
        .defaultInputModes(List.of("text/plain"))
        .defaultOutputModes(List.of("text/plain"))
        .skills(List.of(AgentSkill.builder().id("do").name("Do").description("Does it.").tags(List.of("test")).build()))
        .build();
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      String path = exchange.getRequestURI().getPath();
      if (path.equals("/rpc")) answerRpc(exchange, body);
      else answerRest(exchange, path, body);
    } catch (Throwable error) {
      error.printStackTrace();
      throw error;
    }
  }

  // JSON-RPC

  private void answerRpc(HttpExchange exchange, String body) throws IOException {
    A2AResponse<?> response;
    try {
      A2ARequest<?> request = JSONRPCUtils.parseRequestBody(body, "");
      ServerCallContext context = context(exchange, request.getMethod());
      Flow.Publisher<SendStreamingMessageResponse> stream = streamFor(request, context);
      if (stream != null) {
        AtomicLong count = new AtomicLong();
        events(exchange, context, stream, each -> SseFormatter.formatResponseAsSSE(each, count.getAndIncrement()));
        return;
      }
      response = responseTo(request, context);
    } catch (A2AError error) {
      response = new A2AErrorResponse(error);
    } catch (InvalidParamsJsonMappingException error) {
      response = new A2AErrorResponse(error.getId(), new InvalidParamsError(null, error.getMessage(), null));
    } catch (MethodNotFoundJsonMappingException error) {
      response = new A2AErrorResponse(error.getId(), new MethodNotFoundError(null, error.getMessage(), null));
    } catch (IdJsonMappingException error) {
      response = new A2AErrorResponse(error.getId(), new InvalidRequestError(null, error.getMessage(), null));
    } catch (JsonProcessingException error) {
      response = new A2AErrorResponse(new JSONParseError(error.getMessage()));
    }
    send(exchange, 200, "application/json", written(response));
  }

  private Flow.Publisher<SendStreamingMessageResponse> streamFor(A2ARequest<?> request, ServerCallContext context) {
    if (request instanceof SendStreamingMessageRequest send) return rpc.onMessageSendStream(send, context);
    if (request instanceof SubscribeToTaskRequest subscribe) return rpc.onSubscribeToTask(subscribe, context);
    return null;
  }

  private A2AResponse<?> responseTo(A2ARequest<?> request, ServerCallContext context) {
    if (request instanceof SendMessageRequest send) return rpc.onMessageSend(send, context);
    if (request instanceof GetTaskRequest get) return rpc.onGetTask(get, context);
    if (request instanceof CancelTaskRequest cancel) return rpc.onCancelTask(cancel, context);
    if (request instanceof ListTasksRequest list) return rpc.onListTasks(list, context);
    if (request instanceof CreateTaskPushNotificationConfigRequest set) return rpc.setPushNotificationConfig(set, context);
    return new A2AErrorResponse(request.getId(), new UnsupportedOperationError());
  }

  private static String written(A2AResponse<?> response) {
    if (response.getError() != null) return JSONRPCUtils.toJsonRPCErrorResponse(response.getId(), response.getError());
    MessageOrBuilder result;
    if (response instanceof SendMessageResponse sent) result = ToProto.taskOrMessage(sent.getResult());
    else if (response instanceof GetTaskResponse got) result = ToProto.task(got.getResult());
    else if (response instanceof CancelTaskResponse canceled) result = ToProto.task(canceled.getResult());
    else if (response instanceof ListTasksResponse listed) result = ToProto.listTasksResult(listed.getResult());
    else throw new IllegalStateException(response.getClass().getName());
    return JSONRPCUtils.toJsonRPCResultResponse(response.getId(), result);
  }

  // HTTP+JSON

  private static final Pattern TASK = Pattern.compile("/tasks/([^/:]+)");
  private static final Pattern TASK_VERB = Pattern.compile("/tasks/([^/:]+):(cancel|subscribe)");
  private static final Pattern CONFIGS = Pattern.compile("/tasks/([^/:]+)/pushNotificationConfigs");

  private void answerRest(HttpExchange exchange, String path, String body) throws IOException {
    ServerCallContext context = context(exchange, path);
    HTTPRestResponse response = respond(exchange.getRequestMethod() + " " + path, exchange, context, body);
    if (response instanceof HTTPRestStreamingResponse stream) {
      AtomicLong count = new AtomicLong();
      events(exchange, context, stream.getPublisher(), each -> SseFormatter.formatJsonAsSSE(each, count.getAndIncrement()));
    } else {
      send(exchange, response.getStatusCode(), response.getContentType(), response.getBody());
    }
  }

  private HTTPRestResponse respond(String what, HttpExchange exchange, ServerCallContext context, String body) {
    switch (what) {
      case "GET /.well-known/agent-card.json":
        return rest.getAgentCard();
      case "POST /message:send":
        return rest.sendMessage(context, "", body);
      case "POST /message:stream":
        return rest.sendStreamingMessage(context, "", body);
      case "GET /tasks":
        return list(query(exchange), context);
    }
    String path = what.substring(what.indexOf(' ') + 1);
    boolean isPost = what.startsWith("POST ");
    Matcher task = TASK.matcher(path);
    if (!isPost && task.matches()) return rest.getTask(context, "", task.group(1), number(query(exchange), "historyLength"));
    Matcher verb = TASK_VERB.matcher(path);
    if (isPost && verb.matches()) {
      if (verb.group(2).equals("cancel")) return rest.cancelTask(context, "", verb.group(1));
      return rest.subscribeToTask(context, "", verb.group(1));
    }
    Matcher configs = CONFIGS.matcher(path);
    if (isPost && configs.matches()) return rest.createTaskPushNotificationConfiguration(context, "", body, configs.group(1));
    return rest.createErrorResponse(new MethodNotFoundError());
  }

  private HTTPRestResponse list(Map<String, String> query, ServerCallContext context) {
    String withArtifacts = query.get("includeArtifacts");
    return rest.listTasks(
        context,
        "",
        query.get("contextId"),
        query.get("status"),
        number(query, "pageSize"),
        query.get("pageToken"),
        number(query, "historyLength"),
        query.get("statusTimestampAfter"),
        withArtifacts == null ? null : Boolean.valueOf(withArtifacts));
  }

  private static Map<String, String> query(HttpExchange exchange) {
    Map<String, String> members = new HashMap<>();
    String query = exchange.getRequestURI().getRawQuery();
    if (query == null) return members;
    for (String member : query.split("&")) {
      String[] pair = member.split("=", 2);
      members.put(pair[0], pair.length < 2 ? "" : URLDecoder.decode(pair[1], StandardCharsets.UTF_8));
    }
    return members;
  }

  private static Integer number(Map<String, String> query, String name) {
    String text = query.get(name);
    return text == null || text.isEmpty() ? null : Integer.valueOf(text);
  }

  // Both

  private static ServerCallContext context(HttpExchange exchange, String method) {
    Map<String, String> headers = new HashMap<>();
    exchange.getRequestHeaders().forEach((name, values) -> headers.put(name, values.get(0)));
    Map<String, Object> state = new HashMap<>(Map.of("headers", headers, "method", method, "tenant", ""));
    String version = exchange.getRequestHeaders().getFirst(A2AHeaders.X_A2A_VERSION);
    return new ServerCallContext(UnauthenticatedUser.INSTANCE, state, Set.of(), version);
  }

  private static void send(HttpExchange exchange, int status, String type, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  /** Writes published events until the end, or until the client leaves. */
  private static <T> void events(HttpExchange exchange, ServerCallContext context, Flow.Publisher<T> events, Function<T, String> format)
      throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
    exchange.sendResponseHeaders(200, 0);
    OutputStream out = exchange.getResponseBody();
    CountDownLatch ended = new CountDownLatch(1);
    events.subscribe(new Flow.Subscriber<T>() {
      private Flow.Subscription source;

      @Override
      public void onSubscribe(Flow.Subscription subscription) {
        source = subscription;
        source.request(1);
      }

      @Override
      public void onNext(T event) {
        try {
          out.write(format.apply(event).getBytes(StandardCharsets.UTF_8));
          out.flush();
          source.request(1);
        } catch (IOException gone) {
          context.invokeEventConsumerCancelCallback();
          source.cancel();
          ended.countDown();
        }
      }

      @Override
      public void onError(Throwable error) {
        ended.countDown();
      }

      @Override
      public void onComplete() {
        ended.countDown();
      }
    });
    try {
      ended.await();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }
}
