import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Follows a bridge over its WebSocket with nothing but Java 17 or newer.
 * STREAM_URL=ws://127.0.0.1:8080 STREAM_TOKEN=... java Follow.java CURSOR_FILE
 */
public final class Follow implements WebSocket.Listener {
  /** The first member of this name is the bridge's own: it comes before the item. Read JSON with your library. */
  private static final Pattern CURSOR = Pattern.compile("\"cursor\":\"([^\"]+)\"");
  private static final Pattern RECONNECT = Pattern.compile("\"reconnectInMs\":([0-9]+)");
  private static final long SILENCE_SECONDS = 40; // the bridge gives a sign of life every 15

  private final Path file;
  private final StringBuilder text = new StringBuilder();
  private final CompletableFuture<Integer> closed = new CompletableFuture<>();
  private volatile long heard = System.nanoTime();
  private volatile boolean useful;
  private volatile long reconnectInMs = -1;

  private Follow(Path file) {
    this.file = file;
  }

  @Override
  public CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean isLast) {
    heard = System.nanoTime();
    text.append(part);
    if (isLast) {
      try {
        take(socket, text.toString());
      } catch (Exception error) {
        closed.completeExceptionally(error);
      }
      text.setLength(0);
    }
    socket.request(1); // only now: a slow reader holds the stream up, not memory
    return null;
  }

  private void take(WebSocket socket, String message) throws Exception {
    Matcher cursor = CURSOR.matcher(message);
    if (message.startsWith("{\"type\":\"hello\"")) {
      String from = Files.exists(file) ? "{\"after\":\"" + Files.readString(file) + "\"}" : "{\"tail\":1000}";
      socket.sendText("{\"action\":\"subscribe\",\"filter\":{},\"from\":" + from + "}", true);
    } else if (message.startsWith("{\"type\":\"error\"")) {
      System.err.println(message);
      if (message.contains("\"code\":410")) {
        closed.complete(4010); // a filter or start that is refused leaves the connection open
      }
    } else if (message.startsWith("{\"type\":\"going_away\"")) {
      Matcher asked = RECONNECT.matcher(message);
      reconnectInMs = asked.find() ? Long.parseLong(asked.group(1)) : -1;
    } else if (cursor.find()) {
      int event = message.indexOf("\"event\":");
      if (event >= 0) {
        // Yours: store the event. Its cursor is kept when this is done, better in the same transaction.
        System.out.println(message.substring(event + 8, message.length() - 1));
      }
      Path next = Path.of(file + ".new");
      Files.writeString(next, cursor.group(1));
      Files.move(next, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
      useful = true;
    }
  }

  @Override
  public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
    System.err.println("closed with " + code + " " + reason);
    closed.complete(code);
    return null;
  }

  @Override
  public void onError(WebSocket socket, Throwable error) {
    System.err.println("the stream broke: " + error);
    closed.complete(1006);
  }

  /** Serves one connection to its end; resolves to its close code. */
  private int serve(HttpClient client, URI address, String token) throws Exception {
    WebSocket socket;
    try {
      socket =
          client
              .newWebSocketBuilder()
              .connectTimeout(Duration.ofSeconds(10))
              .header("Authorization", "Bearer " + token)
              .buildAsync(address, this)
              .join();
    } catch (CompletionException failure) {
      System.err.println("no connection: " + failure.getCause());
      boolean refused =
          failure.getCause() instanceof WebSocketHandshakeException answer
              && answer.getResponse().statusCode() / 100 == 4;
      return refused ? 4000 : 1006;
    }
    try {
      while (true) {
        try {
          return closed.get(1, TimeUnit.SECONDS);
        } catch (TimeoutException waiting) {
          if (System.nanoTime() - heard > TimeUnit.SECONDS.toNanos(SILENCE_SECONDS)) {
            return 1006;
          }
        }
      }
    } finally {
      socket.abort();
    }
  }

  public static void main(String[] args) throws Exception {
    String url = System.getenv().getOrDefault("STREAM_URL", "ws://127.0.0.1:8080");
    HttpClient client = HttpClient.newHttpClient();
    for (int useless = 0; ; useless++) {
      Follow follow = new Follow(Path.of(args[0]));
      int code = follow.serve(client, URI.create(url + "/v1/stream"), System.getenv("STREAM_TOKEN"));
      if (code >= 4000 && code < 4100) {
        System.exit(1);
      }
      if (follow.useful) {
        useless = 0;
      }
      long limitMs = Math.min(30_000, 500L << Math.min(useless, 6));
      long ownMs = ThreadLocalRandom.current().nextLong(limitMs + 1);
      Thread.sleep(follow.reconnectInMs >= 0 ? follow.reconnectInMs : ownMs);
    }
  }
}
