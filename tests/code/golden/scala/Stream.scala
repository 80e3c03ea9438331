package example.streams

import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future => F}
import java.time._

/** Something that can be folded. */
trait Foldable[F[_]] {
  def fold[A, B](fa: F[A], zero: B)(f: (B, A) => B): B

  def size[A](fa: F[A]): Int = fold(fa, 0)((n, _) => n + 1)
}

sealed abstract class Stream[+A]

case class Cons[+A](head: A, tail: () => Stream[A]) extends Stream[A] {
  // The first few.
  def take(n: Int): List[A] = {
    if (n <= 0) Nil
    else head :: tail().take(n - 1)
  }
}

case object Empty extends Stream[Nothing]

object Stream {
  val Limit = 100
  type Unary[A] = A => A

  def from(n: Int): Stream[Int] = Cons(n, () => from(n + 1))

  def apply[A](values: A*): Stream[A] = {
    val buffer = new mutable.ListBuffer[A]()
    values.foreach(buffer.append)
    build(buffer.toList)
  }

  private def build[A](values: List[A]): Stream[A] = values match {
    case Nil => Empty
    case head :: tail => Cons(head, () => build(tail))
  }
}

object Main extends App {
  println(Stream.from(1).take(3))
}
